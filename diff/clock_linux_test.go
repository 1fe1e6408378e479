package diff

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpu measures what f takes of a processor; that does not depend on what else
// runs on the machine, as the time on the wall does.
func cpu(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var start, end unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &start); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &end); err != nil {
		t.Fatal(err)
	}
	return time.Duration(end.Nano() - start.Nano())
}

package store

import "golang.org/x/sys/unix"

// freeRoom is how many octets are free on the disk that a file is on.
func freeRoom(path string) (octets uint64, ok bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, false
	}
	return fs.Bavail * uint64(fs.Bsize), true
}

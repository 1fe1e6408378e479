package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// Forbidden addresses stay forbidden in whatever form they are written; the
// list of networks is netpolicy's, here it is about the way to them.
func TestForbiddenAddresses(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
		"169.254.169.254", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]",
		"[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[::7f00:1]", "[2002:7f00:1::]",
	} {
		for _, port := range []string{"", ":8080"} {
			got := New(Settings{}).Look(context.Background(), Request{Origin: "http://" + host + port})
			if got.State != Unreachable || got.Reason != AddressRefused {
				t.Errorf("%s%s: %s %s (%s)", host, port, got.State, got.Reason, got.Detail)
			}
			if got.Address.IsValid() || got.Status != 0 {
				t.Errorf("%s%s was reached", host, port)
			}
		}
	}
	// Other ways to write an address are names to us, and names do not exist.
	for _, host := range []string{"0177.0.0.1", "2130706433", "0x7f000001", "127.1", "127.0.0.1.", "localhost"} {
		got := New(Settings{Resolver: names{"localhost": {addr("127.0.0.1")}}}).Look(context.Background(), Request{Origin: "http://" + host})
		if got.State != Unreachable || got.Reason != DNSNotFound && got.Reason != AddressRefused {
			t.Errorf("%s: %s %s (%s)", host, got.State, got.Reason, got.Detail)
		}
	}
}

// fickle answers with another address each time it is asked.
type fickle struct {
	answers []string
	asked   atomic.Int64
}

func (f *fickle) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n := f.asked.Add(1) - 1
	return []netip.Addr{addr(f.answers[min(n, int64(len(f.answers)-1))])}, nil
}

// A name that changes between look-up and connect gains nothing: the address
// that was checked is the one that is connected to, and each hop asks anew.
func TestNameThatChanges(t *testing.T) {
	secret := listen(t, "127.0.0.2:0", func(c net.Conn) { say(withLength(ok200, group))(c, "") })
	port := secret.origin[len("http://127.0.0.2"):]

	// Allowed first, forbidden afterwards: only the first answer counts.
	f := &fickle{answers: []string{"127.0.0.1", "127.0.0.2"}}
	got := New(Settings{Policy: only, Resolver: f}).Look(context.Background(), Request{Origin: "http://rebind.test" + port})
	if got.Reason != ConnRefused || f.asked.Load() != 1 {
		t.Errorf("%s (%s) after %d look-ups", got.Reason, got.Detail, f.asked.Load())
	}
	// Forbidden from the start.
	got = New(Settings{Policy: only, Resolver: &fickle{answers: []string{"127.0.0.2", "127.0.0.1"}}}).Look(context.Background(), Request{Origin: "http://rebind.test" + port})
	if got.Reason != AddressRefused {
		t.Errorf("%s (%s)", got.Reason, got.Detail)
	}
	// Allowed for the first hop, forbidden for the redirect.
	front := serve(t, say(found("/again")))
	f = &fickle{answers: []string{"127.0.0.1", "127.0.0.2"}}
	got = New(Settings{Policy: only, Resolver: f}).Look(context.Background(), Request{Origin: "http://rebind.test" + front.origin[len("http://127.0.0.1"):]})
	if got.Reason != AddressRefused || f.asked.Load() != 2 {
		t.Errorf("%s (%s) after %d look-ups", got.Reason, got.Detail, f.asked.Load())
	}
	if n := secret.asked.Load(); n != 0 {
		t.Errorf("the forbidden server was reached %d times", n)
	}
}

// A name with good and forbidden addresses is reached at the good ones.
func TestForbiddenAmongOthers(t *testing.T) {
	srv := serve(t, say(withLength(ok200, group)))
	port := srv.origin[len("http://127.0.0.1"):]
	r := names{"mixed.test": {addr("10.0.0.1"), addr("::1"), addr("127.0.0.1")}}
	got := New(Settings{Policy: only, Resolver: r}).Look(context.Background(), Request{Origin: "http://mixed.test" + port})
	if got.State != Policy || got.Address.Addr() != addr("127.0.0.1") {
		t.Errorf("%+v", got)
	}
}

// An address that is down does not hide another that is up.
func TestNextAddress(t *testing.T) {
	srv := serve(t, say(withLength(ok200, group)))
	port := srv.origin[len("http://127.0.0.1"):]
	r := names{"two.test": {addr("127.0.0.9"), addr("127.0.0.1")}}
	got := New(Settings{Policy: loopback, Resolver: r}).Look(context.Background(), Request{Origin: "http://two.test" + port})
	if got.State != Policy || got.Address.Addr() != addr("127.0.0.1") {
		t.Errorf("%+v", got)
	}
	// Thousands of addresses are not tried.
	many := make([]netip.Addr, 5000)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{127, 9, byte(i >> 8), byte(i)})
	}
	l := New(Settings{Policy: loopback, Resolver: names{"many.test": many}}).look(Request{Origin: "http://many.test"})
	l.deadline = time.Now().Add(time.Second)
	h, err := firstHop(l.req)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.resolve(context.Background(), h); err != nil || len(got) != MaxAttempts {
		t.Errorf("%d addresses, %v", len(got), err)
	}
}

func TestInterleave(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{[]string{"::1", "::2", "1.1.1.1", "1.1.1.2"}, []string{"::1", "1.1.1.1", "::2", "1.1.1.2"}},
		{[]string{"1.1.1.1", "1.1.1.2"}, []string{"1.1.1.1", "1.1.1.2"}},
		{[]string{"::ffff:1.1.1.1", "::1"}, []string{"1.1.1.1", "::1"}},
		{nil, nil},
	} {
		var in []netip.Addr
		for _, s := range c.in {
			in = append(in, addr(s))
		}
		got := interleave(in)
		for i, s := range c.want {
			if got[i] != addr(s) {
				t.Errorf("%v gave %v", c.in, got)
				break
			}
		}
	}
}

type failing struct{ err error }

func (f failing) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, f.err
}

func TestNamesThatFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      Resolver
		reason Reason
	}{
		{"no such name", names{}, DNSNotFound},
		{"no address", names{"x.test": {}}, DNSNotFound},
		{"servfail", failing{&net.DNSError{Err: "server misbehaving", Name: "x.test", IsTemporary: true}}, DNSFailure},
		{"timeout", failing{&net.DNSError{Err: "i/o timeout", Name: "x.test", IsTimeout: true}}, DNSTimeout},
		{"something else", failing{errors.New("broken")}, NetworkError},
		{"private only", names{"x.test": {addr("192.168.0.1"), addr("fd00::1")}}, AddressRefused},
	} {
		got := New(Settings{Resolver: c.r}).Look(context.Background(), Request{Origin: "https://x.test"})
		if got.State != Unreachable || got.Reason != c.reason || got.FinalURL != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// hanging is a resolver that answers when it is told to end.
type hanging struct{}

func (hanging) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
}

func TestResolverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Settings{Resolver: hanging{}, Timeout: 30 * time.Second})
		got := c.Look(context.Background(), Request{Origin: "https://x.test"})
		if got.Reason != DNSTimeout || got.Took != 30*time.Second {
			t.Errorf("%s after %v", got.Reason, got.Took)
		}
	})
	// Real name servers that swallow the question.
	pit, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	before := baseline(t)
	var mu sync.Mutex
	var asked []net.Conn
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "udp", pit.LocalAddr().String())
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, c)
		return c, err
	}}
	got := New(Settings{Resolver: r, Timeout: hostileTimeout}).Look(context.Background(), Request{Origin: "https://x.test"})
	if got.Reason != DNSTimeout || got.Took > hostileTimeout+time.Second {
		t.Errorf("%s (%s) after %v", got.Reason, got.Detail, got.Took)
	}
	// The Go resolver ends a question that nobody waits for any more when its
	// own few seconds are over, or as here when the socket fails.
	pit.Close()
	mu.Lock()
	for _, c := range asked {
		c.Close()
	}
	mu.Unlock()
	backToBaseline(t, before)
}

// The policy of the daemon is the one that the look obeys.
func TestPolicyIsAsked(t *testing.T) {
	srv := serve(t, say(withLength(ok200, group)))
	got := New(Settings{Policy: netpolicy.Policy{AllowPrivate: true}}).Look(context.Background(), Request{Origin: srv.origin})
	if got.State != Policy {
		t.Errorf("%+v", got)
	}
}

package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// rulesOf reads "-/a +/b" or one rule a line: + allows, - disallows.
func rulesOf(text string) *robots.Rules {
	r := &robots.Rules{Source: robots.SourceWildcard, Token: "*"}
	for i, field := range strings.Fields(text) {
		kind := map[byte]string{'+': "Allow", '-': "Disallow"}[field[0]]
		r.Rules = append(r.Rules, robots.Rule{
			Allow: field[0] == '+', Pattern: robots.NormalizePattern(field[1:]),
			Text: kind + ": " + field[1:], Line: i + 2,
		})
	}
	return r
}

func repeat(n int, rule func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(rule(i))
		b.WriteByte('\n')
	}
	return b.String()
}

func format(f string) func(int) string {
	return func(i int) string { return fmt.Sprintf(f, i) }
}

// hostile pairs, each named for what it attacks.
func hostile() []question {
	var list []question
	add := func(name, before, after string) {
		list = append(list, question{name, rulesOf(before), rulesOf(after)})
	}
	words := func(n int, seed uint64, letters string) []string {
		random := rand.New(rand.NewPCG(seed, 0))
		out := make([]string, n)
		for i := range out {
			for range 4 {
				out[i] += letters[random.IntN(len(letters)):][:1]
			}
		}
		return out
	}
	abcd := words(1000, 1, "abcd")

	add("looks at rules: 10,000 rules, one gone", repeat(10_000, format("-/dir/%d/")), repeat(9_999, format("-/dir/%d/")))
	add("looks at pairs of rules: 10,000 replaced by 10,000", repeat(10_000, format("-/old/%d/")), repeat(10_000, format("-/new/%d/")))
	add("looks at pairs of rules: 10,000 verdicts swapped", repeat(10_000, format("-/dir/%d/")), repeat(10_000, format("+/dir/%d/")))
	add("access: 5,000 Disallow, each overruled", repeat(5_000, func(i int) string { return fmt.Sprintf("-/d%d/\n+/d%d/", i, i) }), "")
	add("access: everything disallowed piece by piece", repeat(300, func(i int) string { return fmt.Sprintf("-/%%%02X", i%256) })+"-/*", "-/")
	add("the index: a chain of 2,000 prefixes, verdicts alternating",
		repeat(2_000, func(i int) string { return "-+"[i%2:][:1] + "/" + strings.Repeat("a", i) }),
		repeat(2_000, func(i int) string { return "+-"[i%2:][:1] + "/" + strings.Repeat("a", i) }))
	add("pairing: one rule 10,000 times, once less", repeat(10_000, format("-/a%.0d")), repeat(9_999, format("-/a%.0d")))
	add("ties: 5,000 patterns of one length", repeat(5_000, format("-/*%05d")), repeat(5_000, format("-/*%05d"))+"+/*a0000")
	add("a pattern: 1,000 stars", "-/"+strings.Repeat("*a", 1000), "-/"+strings.Repeat("*a", 1000)+" +/"+strings.Repeat("*ab", 500))
	add("a pattern: 1,000 stars in a row", "-/"+strings.Repeat("*", 1000), "-/"+strings.Repeat("*", 999))
	add("a pattern: 500 KiB in one line", "-/"+strings.Repeat("a", 500<<10), "-/"+strings.Repeat("a", 500<<10)+"b")
	add("a pattern: 500 KiB of stars and letters", "-/"+strings.Repeat("*a", 250<<10), "-/"+strings.Repeat("*a", 250<<10)+" +/*"+strings.Repeat("b*", 250<<10))
	add("borders: aaa…b after a star, twice", "-/*"+strings.Repeat("a", 3000)+"b", "-/*"+strings.Repeat("a", 3000)+"b +/*"+strings.Repeat("a", 3001)+"*c")
	add("the product: two long patterns interleaved", "-/"+strings.Repeat("*ab", 1000), "-/"+strings.Repeat("*ab", 1000)+" +/"+strings.Repeat("*ba", 1000)+"*")
	add("the product: 400 Allow with stars over 400 Disallow with stars",
		repeat(400, func(i int) string { return "-/*" + abcd[i] + "*q" }),
		repeat(400, func(i int) string { return "-/*" + abcd[i] + "*q" })+repeat(400, func(i int) string { return "+/*" + abcd[i+400] + "*r*s" }))
	add("states: 300 patterns of two literals to avoid, all begun by one path",
		repeat(300, func(i int) string { return fmt.Sprintf("+/*%s*%s*", abcd[i], abcd[i+300]) })+"-/*"+strings.Join(abcd[:300], "*"),
		repeat(300, func(i int) string { return fmt.Sprintf("+/*%s*%s*", abcd[i], abcd[i+300]) }))
	add("states: a formula to satisfy", formula(40, 168, 1)+"-/*"+variables(40), formula(40, 168, 1))
	add("states: a larger formula to satisfy", formula(200, 852, 2)+"-/*"+variables(200), formula(200, 852, 2))
	add("length: only a long way round avoids everything", maze()+"-/*aa*dd", maze())
	add("fillers: every octet is waited for", everyOctet("-/*%s%[1]sq")+"-/*zz", everyOctet("-/*%s%[1]sq"))
	add("fillers: every octet after the slash is taken", everyOctet("-/%s")+"+/$", everyOctet("-/%s"))
	add("escapes: cut, doubled, in stars", repeat(200, format("-/*%%*%%%%%02X*%%"))+"-/%", repeat(200, format("-/*%%*%%%%%02X*%%")))
	add("ends: 1,000 anchored patterns", repeat(1000, func(i int) string { return "+/*" + abcd[i] + "$" })+"-/*a", repeat(1000, func(i int) string { return "+/*" + abcd[i] + "$" }))
	add("covers: 500 kinds of everything", repeat(500, func(i int) string { return "-/" + strings.Repeat("*", i) }), repeat(500, func(i int) string { return "-" + strings.Repeat("*", i+1) + "/" }))
	return list
}

// formula is a random formula in clauses of three as patterns to avoid: a path
// writes one of P, N for each variable in turn, and a clause is a pattern that
// the three wrong choices match.
func formula(variables, clauses int, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	long := strings.Repeat("*", 4*variables) // longer than the pattern it overrules
	return repeat(clauses, func(int) string {
		v := random.Perm(variables)[:3]
		for i := range v {
			for j := i + 1; j < 3; j++ {
				if v[j] < v[i] {
					v[i], v[j] = v[j], v[i]
				}
			}
		}
		s := "+/*"
		for _, x := range v {
			s += fmt.Sprintf("(%d%c*", x, "PN"[random.IntN(2)])
		}
		return s + long
	}) + repeat(variables, func(x int) string {
		// After a variable comes its value.
		return everyOctetBut("PN0123456789", fmt.Sprintf("+/*(%d%%s%s", x, long))
	})
}

func variables(n int) string {
	return repeat(1, func(int) string {
		s := ""
		for x := range n {
			s += fmt.Sprintf("(%d*", x)
		}
		return s
	})
}

func everyOctet(pattern string) string { return everyOctetBut("", pattern) }

func everyOctetBut(but, pattern string) string {
	var b strings.Builder
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!&'()+,;=%" {
		if !strings.ContainsRune(but, c) {
			fmt.Fprintf(&b, pattern+"\n", string(c))
		}
	}
	return b.String()
}

// maze allows all steps but those that count upwards.
func maze() string {
	var b strings.Builder
	for _, x := range "abcd" {
		for _, y := range "abcd" {
			for _, z := range "abcd" {
				if (int(x)*7+int(y)*3+int(z))%3 != 0 {
					fmt.Fprintf(&b, "+/*%c%c%c***********\n", x, y, z)
				}
			}
		}
	}
	return b.String() + everyOctetBut("abcd", "+/*%s***********")
}

package config

import (
	"hash/maphash"
	"slices"
)

// maxFileProblems is how many problems of one site file are listed; the rest
// is counted.
const maxFileProblems = 100

// checkSites reads every site file once for its mistakes and tags, and again
// only if hashes say that some site may be there twice.
func checkSites(l *loader, c *Config) {
	seed := maphash.MakeSeed()
	var hashes []uint64
	tags := l.tagsMet()
	l.eachSite(c, true, func(_ string, _ place, s Site) {
		hashes = append(hashes, maphash.String(seed, s.Origin))
		tags.add(s.Tags)
	})
	if c.siteCount = len(hashes); c.siteCount > 0 {
		warnOfTags(l, tags)
	}
	slices.Sort(hashes)
	suspects := map[uint64]bool{}
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			suspects[hashes[i]] = true
		}
	}
	if len(suspects) == 0 {
		return
	}
	type where struct {
		file string
		at   place
	}
	first := map[string]where{}
	reported := map[string]int{}
	l.eachSite(c, false, func(file string, at place, s Site) {
		if !suspects[maphash.String(seed, s.Origin)] {
			return
		}
		before, twice := first[s.Origin]
		if !twice {
			first[s.Origin] = where{file, at}
			return
		}
		if reported[file]++; reported[file] <= maxFileProblems {
			l.reportIn(file, at, l.siteKey(file), "%s is there twice, first at %s:%d; keep one of them", s.Origin, before.file, before.at.line)
		}
	})
	for file, n := range reported {
		if n > maxFileProblems {
			l.reportIn(file, place{1, 1}, l.siteKey(file), "and %d more sites are there twice", n-maxFileProblems)
		}
	}
}

// siteKey is the key under which a file has its sites; lists of them have none.
func (l *loader) siteKey(file string) string {
	if file == l.file {
		return "sites.url"
	}
	return "site"
}

// eachSite goes through the sites that are right, and reports the mistakes
// of the others if asked to.
func (l *loader) eachSite(c *Config, report bool, yield func(file string, at place, s Site)) {
	for _, s := range c.sites {
		yield(l.file, s.at, s)
	}
	for i := range c.siteFiles {
		f := &c.siteFiles[i]
		wrong := 0
		err := f.each(l.options.CheckAgent, func(at place, s Site, err error) bool {
			if err == nil {
				yield(f.path, at, s)
				return true
			}
			if wrong++; report && wrong <= maxFileProblems {
				l.reportIn(f.path, at, "site", "%v", err)
			}
			return true
		})
		if report && wrong > maxFileProblems {
			l.reportIn(f.path, place{1, 1}, "site", "and %d more lines are wrong", wrong-maxFileProblems)
		}
		if report && err != nil {
			l.report(f.at, "site_files.path", "%v", err)
		}
	}
}

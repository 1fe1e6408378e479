package robots

// Decide gives the verdict on a path with query ("/a?b=c"). The path need
// not be normalised. Longest pattern in octets wins, Allow on a tie (2.2.2);
// /robots.txt is always allowed.
func (r *Rules) Decide(path string) Decision { return Decision{Allowed: true} }

// Match reports whether a normalised pattern matches a normalised path.
// Linear in len(pattern)+len(path) for any number of stars.
func Match(pattern, path string) bool { return false }

// NormalizePath brings path and query of a URL to the form that is compared
// (2.2.2): octets outside ASCII as %XX, hex digits upper case, %XX of
// unreserved octets decoded, a literal * or $ as %2A, %24.
func NormalizePath(path string) string { return path }

// NormalizePattern does the same for the value of a rule, where * and a final
// $ stay special.
func NormalizePattern(value string) string { return value }

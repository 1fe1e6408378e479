package robots

import "strings"

// wildcard names everyone for whom no group of their own stands (2.2.1).
const wildcardToken = "*"

// agentValue is what the value of a User-agent line says.
type agentValue struct {
	token   string // lower case; "" matches nobody
	version bool   // a version was cut: FooBot/1.2
	rest    string // text after the token, which is ignored
}

// readAgent finds the product token in the value of a User-agent line. The
// first word counts, without a version. Letters, digits, '.', '_' and '-' can
// be part of a token: the RFC's grammar lacks digits and dots, real tokens
// (MJ12bot, AI2Bot, archive.org_bot) have them. What has anything else in it,
// or is a whole header, equals no crawler's token.
func readAgent(value string) agentValue {
	n := 0
	for n < len(value) && isTokenOctet(value[n]) {
		n++
	}
	if n == len(value) {
		return agentValue{token: strings.ToLower(value)}
	}
	word, rest := value, ""
	if i := strings.IndexAny(value, " \t\v\f"); i >= 0 {
		word, rest = value[:i], trimSpace(value[i:])
	}
	if word == wildcardToken {
		return agentValue{token: wildcardToken, rest: rest}
	}
	if strings.ContainsAny(value, `"'(),;`) || n < len(word) && word[n] != '/' {
		return agentValue{}
	}
	return agentValue{token: strings.ToLower(word[:n]), version: 0 < n && n < len(word), rest: rest}
}

func isTokenOctet(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-'
}

// foldToken brings the product token of a crawler to the form in which groups
// are looked up; a version is no part of it.
func foldToken(token string, r Reading) string {
	if r != ReadingGoogle {
		token, _, _ = strings.Cut(token, "/")
	}
	return strings.ToLower(token)
}

// Token is the product token that the value of a User-agent line counts as,
// lower case: "*" for everyone without a group, "" for nobody.
func Token(value string) string { return readAgent(value).token }

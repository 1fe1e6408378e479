package main

import (
	"slices"
	"testing"
)

func TestNamesShownInAnErrorAreFew(t *testing.T) {
	all := "a" // namesShown of them
	for range namesShown - 1 {
		all += ", a"
	}
	for n, want := range map[int]string{0: "none", 1: "a", 2: "a, a", namesShown: all, namesShown + 1: all + " and 1 more"} {
		if got := someNames(slices.Repeat([]string{"a"}, n)); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}

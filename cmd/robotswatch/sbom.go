package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// sbomCommand describes a build for those who ship it.
func (a *app) sbomCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sbom FILE",
		Short: "Print what a Go binary was built from",
		Long: `Prints the bill of materials of a Go binary (CycloneDX 1.5, JSON), as the
compiler noted it in the file. The same file always gives the same text.`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := buildinfo.ReadFile(args[0])
			if err != nil {
				return err
			}
			return writeSBOM(a.stdout, info)
		},
	}
}

// component is as much of one in CycloneDX 1.5 as is known.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

func writeSBOM(w io.Writer, info *debug.BuildInfo) error {
	var bom struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Component component `json:"component"`
		} `json:"metadata"`
		Components []component `json:"components"`
	}
	bom.Format, bom.Spec, bom.Version = "CycloneDX", "1.5", 1
	bom.Metadata.Component = module("application", info.Main)
	bom.Components = []component{{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion[len("go"):]}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		bom.Components = append(bom.Components, module("library", *m))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(bom); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

func module(kind string, m debug.Module) component {
	return component{Type: kind, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Nothing here runs containers, so that a wrong word in an example would go
// unnoticed: each field is compared with those that Compose and Kubernetes
// know, as far as we use them.
var (
	composeFields = fields(`
services.NAME.: image command build.context build.dockerfile read_only cap_drop security_opt volumes ports restart stop_grace_period environment.GF_AUTH_ANONYMOUS_ENABLED
volumes.: robotswatch`)
	kubernetesFields = map[string][]string{
		"ConfigMap": fields(`: apiVersion kind metadata.name data.config.toml`),
		"Service": fields(`: apiVersion kind metadata.name metadata.labels.app spec.selector.app
spec.ports.: name port targetPort`),
		"StatefulSet": fields(`: apiVersion kind metadata.name
spec.: serviceName replicas selector.matchLabels.app
spec.template.metadata.: labels.app annotations.prometheus.io/scrape annotations.prometheus.io/port
spec.template.spec.securityContext.: runAsNonRoot runAsUser runAsGroup fsGroup seccompProfile.type
spec.template.spec.containers.: name image args ports.name ports.containerPort
spec.template.spec.containers.startupProbe.: httpGet.path httpGet.port failureThreshold
spec.template.spec.containers.readinessProbe.: httpGet.path httpGet.port
spec.template.spec.containers.livenessProbe.: httpGet.path httpGet.port periodSeconds failureThreshold
spec.template.spec.containers.resources.: requests.cpu requests.memory limits.memory
spec.template.spec.containers.securityContext.: allowPrivilegeEscalation readOnlyRootFilesystem capabilities.drop
spec.template.spec.containers.volumeMounts.: name mountPath readOnly
spec.template.spec.volumes.: name configMap.name
spec.volumeClaimTemplates.: metadata.name spec.accessModes spec.resources.requests.storage`),
	}
)

// fields reads lines of a beginning, a colon and ends.
func fields(text string) (list []string) {
	for line := range strings.Lines(text) {
		begin, ends, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, end := range strings.Fields(ends) {
			list = append(list, begin+end)
		}
	}
	return list
}

// yamlValues are the values of all documents of a file, by field. Members of
// lists share theirs. A key that is there twice is an error.
func yamlValues(t *testing.T, path string) (list []map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		values := map[string][]string{}
		flatten(values, "", document)
		list = append(list, values)
	}
}

func flatten(into map[string][]string, field string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			flatten(into, strings.TrimPrefix(field+"."+key, "."), inner)
		}
		if len(v) == 0 {
			into[field] = append(into[field], "")
		}
	case []any:
		for _, inner := range v {
			flatten(into, field, inner)
		}
	default:
		into[field] = append(into[field], fmt.Sprint(v))
	}
}

func wants(t *testing.T, what string, values map[string][]string, want map[string]string) {
	t.Helper()
	for field, value := range want {
		if !slices.Contains(values[field], value) {
			t.Errorf("%s: %s is %q, want %q", what, field, values[field], value)
		}
	}
}

// Nothing but the volume can be written to where the image is empty and its
// root read-only: temporary files go there too.
func TestContainerWritesToItsVolume(t *testing.T) {
	text, err := os.ReadFile(deployDir + "container/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	volume := regexp.MustCompile(`(?m)^VOLUME (\S+)$`).FindSubmatch(text)
	temporary := regexp.MustCompile(`(?m)^ENV TMPDIR=(\S+)$`).FindSubmatch(text)
	if volume == nil || temporary == nil || string(volume[1]) != string(temporary[1]) {
		t.Errorf("the volume is %q, $TMPDIR is %q", volume, temporary)
	}
}

func TestComposeFile(t *testing.T) {
	values := yamlValues(t, deployDir+"container/compose.yaml")[0]
	service := regexp.MustCompile(`^services\.\w+\.`)
	for field, list := range values {
		if !slices.Contains(composeFields, service.ReplaceAllString(field, "services.NAME.")) {
			t.Errorf("%s: unknown to Compose, or to this test", field)
		}
		if !strings.HasSuffix(field, ".volumes") {
			continue
		}
		for _, mount := range list {
			source, rest, _ := strings.Cut(mount, ":")
			if strings.HasPrefix(source, ".") {
				if _, err := os.Stat(filepath.Join(deployDir+"container", source)); err != nil || !strings.HasSuffix(rest, ":ro") {
					t.Errorf("%s: %s: not there, or not read-only: %v", field, mount, err)
				}
			}
		}
	}
	wants(t, "compose.yaml", values, map[string]string{
		"services.robotswatch.read_only": "true", "services.robotswatch.cap_drop": "ALL", "services.robotswatch.security_opt": "no-new-privileges:true",
		"services.robotswatch.ports": "127.0.0.1:9309:9309", "services.robotswatch.build.dockerfile": "deploy/container/Containerfile",
	})
	if code, _, stderr := runApp(t, "", "config", "check", deployDir+"container/config.toml"); code != exitOK {
		t.Error(stderr)
	}
}

func TestKubernetesManifest(t *testing.T) {
	by := map[string]map[string][]string{}
	for _, values := range yamlValues(t, deployDir+"kubernetes/robotswatch.yaml") {
		kind := values["kind"][0]
		by[kind] = values
		for field := range values {
			if !slices.Contains(kubernetesFields[kind], field) {
				t.Errorf("%s: %s: unknown to Kubernetes, or to this test", kind, field)
			}
		}
	}
	wants(t, "Service", by["Service"], map[string]string{"apiVersion": "v1", "spec.selector.app": "robotswatch", "spec.ports.targetPort": "http"})
	const pod, container = "spec.template.spec.", "spec.template.spec.containers."
	wants(t, "StatefulSet", by["StatefulSet"], map[string]string{
		"apiVersion": "apps/v1", "spec.selector.matchLabels.app": "robotswatch", "spec.template.metadata.labels.app": "robotswatch",
		"spec.serviceName": by["Service"]["metadata.name"][0], pod + "volumes.configMap.name": by["ConfigMap"]["metadata.name"][0],
		pod + "securityContext.runAsNonRoot": "true", container + "securityContext.readOnlyRootFilesystem": "true",
		container + "securityContext.allowPrivilegeEscalation": "false", container + "securityContext.capabilities.drop": "ALL",
		container + "ports.containerPort": "9309", container + "readinessProbe.httpGet.path": "/-/ready", container + "livenessProbe.httpGet.path": "/-/healthy",
	})
	config := filepath.Join(t.TempDir(), "config.toml")
	keepFile(t, config, []byte(by["ConfigMap"]["data.config.toml"][0]))
	if code, _, stderr := runApp(t, "", "config", "check", config); code != exitOK {
		t.Error(stderr)
	}
}

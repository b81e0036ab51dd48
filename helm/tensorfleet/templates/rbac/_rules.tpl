{{/*
The rules of a file of files/rbac, without those that this release has no use for, and with the names of its own
objects in place of the ones in the file. Arguments: root, file, clusterScoped (whether rules on objects that belong to
no namespace are wanted: "only", "also" or "none").
*/}}
{{- define "tensorfleet.rules" -}}
{{- $root := .root }}
{{- $wanted := .clusterScoped }}
{{- $certificates := include "tensorfleet.makesCertificates" $root }}
{{- $rules := list }}
{{- range (($root.Files.Get .file) | fromYaml).rules }}
{{- $group := first .apiGroups }}
{{- $resource := first .resources }}
{{- $isCluster := eq $group "admissionregistration.k8s.io" }}
{{- $use := or (eq $wanted "also") (and $isCluster (eq $wanted "only")) (and (not $isCluster) (eq $wanted "none")) }}
{{- if and (eq $resource "podgroups") (not $root.Values.operator.gangSchedulerName) }}
{{- $use = false }}
{{- else if and (eq $resource "leases") (not (has "list" .verbs)) (not $root.Values.leaderElection.enabled) }}
{{- $use = false }}
{{- else if and (or $isCluster (eq $resource "secrets")) (not $certificates) }}
{{- $use = false }}
{{- end }}
{{- if $use }}
{{- $rule := deepCopy . }}
{{- if .resourceNames }}
{{- $name := include "tensorfleet.webhookConfigurationName" $root }}
{{- if eq $resource "leases" }}
{{- $name = include "tensorfleet.leaseName" $root }}
{{- else if eq $resource "secrets" }}
{{- $name = include "tensorfleet.webhookSecretName" $root }}
{{- end }}
{{- $_ := set $rule "resourceNames" (list $name) }}
{{- end }}
{{- $rules = append $rules $rule }}
{{- end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}

{{- define "tensorfleet.subjects" -}}
- kind: ServiceAccount
  name: {{ include "tensorfleet.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Names and labels that the objects of a release share. */}}

{{- define "tensorfleet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* At most 48 characters, so that what is made from it stays a name. */}}
{{- define "tensorfleet.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains (include "tensorfleet.name" .) .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "tensorfleet.name" .) | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "tensorfleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tensorfleet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "tensorfleet.uiLabels" -}}
app.kubernetes.io/name: {{ include "tensorfleet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: ui
{{- end }}

{{- define "tensorfleet.labels" -}}
{{ include "tensorfleet.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tensorfleet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "tensorfleet.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "tensorfleet.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* Objects without a namespace carry that of the release in their names: two releases may share a name. */}}
{{- define "tensorfleet.clusterName" -}}
{{- if .Values.fullnameOverride }}
{{- include "tensorfleet.fullname" . }}
{{- else }}
{{- printf "%s.%s" (include "tensorfleet.fullname" .) .Release.Namespace }}
{{- end }}
{{- end }}

{{- define "tensorfleet.leaseName" -}}
{{- if .Values.leaderElection.id }}
{{- .Values.leaderElection.id }}
{{- else }}
{{- printf "%s.tensorfleet.dev" (include "tensorfleet.fullname" .) }}
{{- end }}
{{- end }}

{{- define "tensorfleet.webhookSecretName" -}}
{{- default (printf "%s-webhook-cert" (include "tensorfleet.fullname" .)) .Values.webhook.secretName }}
{{- end }}

{{- define "tensorfleet.webhookConfigurationName" -}}
{{- default (printf "validator.%s.tensorfleet.dev" (include "tensorfleet.clusterName" .)) .Values.webhook.configurationName }}
{{- end }}

{{- /* Whether the operator makes the webhook's certificates itself. */}}
{{- define "tensorfleet.makesCertificates" -}}
{{- if and .Values.webhook.enabled (not .Values.webhook.certificate.existingSecret) }}true{{ end }}
{{- end }}

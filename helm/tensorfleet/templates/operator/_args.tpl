{{/* The operator's command line. */}}
{{- define "tensorfleet.args" -}}
- --zap-encoder={{ .Values.operator.logFormat }}
- --zap-log-level={{ .Values.operator.logLevel }}
- --controller-threads={{ .Values.operator.controllerThreads | int }}
- --parallel-requests={{ .Values.operator.parallelRequests | int }}
- --kube-api-qps={{ .Values.operator.kubeApiQps | int }}
- --kube-api-burst={{ .Values.operator.kubeApiBurst | int }}
- --metrics-bind-address=:{{ .Values.metrics.port | int }}
- --health-probe-bind-address=:{{ .Values.health.port | int }}
{{- with .Values.watchNamespace }}
- --namespace={{ . }}
{{- end }}
{{- with .Values.operator.gangSchedulerName }}
- --gang-scheduler-name={{ . }}
{{- end }}
{{- if .Values.leaderElection.enabled }}
- --leader-elect
- --leader-election-id={{ include "tensorfleet.leaseName" . }}
- --leader-election-namespace={{ .Release.Namespace }}
{{- end }}
- --webhook={{ .Values.webhook.enabled }}
{{- if .Values.webhook.enabled }}
- --webhook-server-port={{ .Values.webhook.port | int }}
- --webhook-service-name={{ include "tensorfleet.fullname" . }}
{{- if .Values.webhook.certificate.existingSecret }}
- --webhook-cert-dir=/etc/tensorfleet/certificate
{{- else }}
- --webhook-secret-name={{ include "tensorfleet.webhookSecretName" . }}
- --webhook-config-name={{ include "tensorfleet.webhookConfigurationName" . }}
{{- end }}
{{- end }}
{{- range .Values.operator.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

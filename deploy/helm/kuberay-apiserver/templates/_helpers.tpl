{{- define "kuberay-apiserver.chartName" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-apiserver.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $of_release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $of_release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-apiserver.labels" -}}
app.kubernetes.io/name: {{ include "kuberay-apiserver.chartName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kuberay-apiserver.selectorLabels" -}}
app.kubernetes.io/component: {{ include "kuberay-apiserver.chartName" . }}
app.kubernetes.io/name: {{ .Release.Name }}
{{- end -}}

{{/* Port of the Service's `port` behind it: the proxy's where there is one. */}}
{{- define "kuberay-apiserver.targetPort" -}}
{{- if not .root.Values.security -}}
{{- .port.targetPort -}}
{{- else if eq .port.name "http" -}}
{{- .root.Values.security.env.HTTP_LOCAL_PORT -}}
{{- else -}}
{{- .root.Values.security.env.GRPC_LOCAL_PORT -}}
{{- end -}}
{{- end -}}

{{/* What `kind` and `name` allow, for the ServiceAccount: dict root, binding, kind, role. */}}
{{- define "kuberay-apiserver.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .binding }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "kuberay-apiserver.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ .root.Values.serviceAccount.name }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

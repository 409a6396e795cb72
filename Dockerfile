# One static binary, run by nobody in particular, on nothing but CA certificates
# and time zones.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build-cache \
    GOCACHE=/go/build-cache CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/rowmill ./cmd/rowmill
# The only place it may write to where nothing else is configured.
RUN mkdir -m 700 /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/rowmill /rowmill
COPY --from=build --chown=nonroot:nonroot /out/data /data
WORKDIR /data
USER nonroot
EXPOSE 8080
# There is no shell to ask with: the binary asks the process's admin address.
ENV ROWMILL_ADMIN_ADDR=127.0.0.1:9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["/rowmill", "health"]
ENTRYPOINT ["/rowmill"]
CMD ["serve"]

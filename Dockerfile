# An image with `fencepost`, clang, and the scripts for CI.
#
#   docker build -t fencepost .
#   docker run --rm -v "$PWD:/project" fencepost check
FROM rust:1-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo install --locked --path crates/cli --root /installed

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash clang curl ca-certificates gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/bin/ /usr/local/bin/
COPY ci/check /usr/local/bin/fencepost-ci-check
COPY ci/comment-gitlab /usr/local/bin/fencepost-ci-comment-gitlab
WORKDIR /project
ENTRYPOINT ["fencepost"]

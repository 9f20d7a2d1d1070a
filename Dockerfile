# bomgen from its lock files: docker build -t bomgen . && docker run --rm -v "$PWD:/plans" bomgen build plan.yaml
FROM python:3.13-slim
WORKDIR /src
COPY requirements requirements
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt -r requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY bomgen bomgen
COPY docs docs
COPY plans plans
COPY schemas schemas
COPY templates templates
COPY tools tools
RUN pip install --no-cache-dir --no-deps --no-build-isolation .
WORKDIR /plans
ENTRYPOINT ["bomgen"]

"""``tokenstile serve``: a server with OpenAI's API and a playground."""

from __future__ import annotations

import socket
from typing import Annotated

try:
    import typer

    from tokenstile.cli.outcome import JsonFlag, print_json, tells_errors
    from tokenstile.cli.sources import SpellingName  # noqa: TC001 - typer reads it
except ImportError as error:
    raise ImportError("the command line needs typer and rich: pip install 'tokenstile[serve]'") from error

__all__ = ["main", "serve"]


@tells_errors
def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A .gguf file or a folder of transformers; SmolLM2-135M-Instruct where none is named."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    name: Annotated[str | None, typer.Option(help="What clients call the model.")] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="TOKENSTILE_API_KEY", help="What clients must send as their API key.")
    ] = None,
    slots: Annotated[int, typer.Option(min=1, help="Outputs that are written at once; others wait.")] = 8,
    max_length: Annotated[int, typer.Option(min=16, help="Tokens of a prompt and its output.")] = 2048,
    speculate: Annotated[int, typer.Option(min=0, help="Tokens that are guessed ahead.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads of the model; by default one less than there are processors."),
    ] = None,
    complete_in_time: Annotated[
        bool, typer.Option(help="Whether structured outputs are complete within their max_tokens.")
    ] = True,
    tool_format: Annotated[
        str, typer.Option(help="The family of models whose tool calls are written.")
    ] = "qwen_3",
    thinking: Annotated[
        tuple[str, str] | None, typer.Option(help="What begins and ends a thought: two texts.")
    ] = None,
    max_concurrent: Annotated[
        int, typer.Option(min=1, help="Outputs under way or waiting; more get a 429.")
    ] = 256,
    max_body_bytes: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 4 << 20,
    max_prompt_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="Bytes of a prompt; by default 32 for each token of the model's room."),
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections at a time.")] = 512,
    max_compile_time: Annotated[
        float, typer.Option(min=0.001, help="Seconds for the compilation of one grammar.")
    ] = 2.0,
    timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds for a request, from when the model begins with it.")
    ] = 300.0,
    queue_timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a request waits for the model to begin with it.")
    ] = 600.0,
    shutdown_grace: Annotated[
        float, typer.Option(min=0.001, help="Seconds for outputs to end when the server is told to stop.")
    ] = 8.0,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which the server may be called, beside localhost; * for any."),
    ] = None,
    cors_origin: Annotated[list[str] | None, typer.Option(help="A web page that may use the server.")] = None,
    playground: Annotated[bool, typer.Option(help="Whether there is a page at /.")] = True,
    spelling: Annotated[
        SpellingName | None,
        typer.Option(help="How values of JSON are written where a request does not say."),
    ] = None,
    strict_fields: Annotated[
        bool, typer.Option("--strict-fields", help="Refuse fields of requests that are not known.")
    ] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning, error.")] = "info",
    as_json: JsonFlag = False,
) -> None:
    """Serve a model over HTTP, with OpenAI's API and structured output.

    With `--json` the address is written as JSON once the model is loaded, and so are errors.
    """
    from tokenstile.server import ServerConfig  # noqa: PLC0415 - --help is quick
    from tokenstile.server.running import EngineOptions, is_loopback, load_app  # noqa: PLC0415
    from tokenstile.server.running import serve as listen  # noqa: PLC0415
    from tokenstile.structured_output import ReasoningMarkers  # noqa: PLC0415

    if not is_loopback(host) and api_key is None:
        typer.echo("Warning: other machines can reach this server, and it has no API key.", err=True)
    own_name = [] if host in {"0.0.0.0", "::"} else [host]  # noqa: S104 - compared with
    config = ServerConfig(
        model_name=name or "default",
        api_key=api_key,
        tool_format=tool_format,
        reasoning=None if thinking is None else ReasoningMarkers(start=thinking[0], end=thinking[1]),
        allowed_hosts=("localhost", "127.0.0.1", "[::1]", *own_name, *(allowed_host or [])),
        cors_origins=tuple(cors_origin or []),
        playground=playground,
        max_concurrent=max_concurrent,
        max_body_bytes=max_body_bytes,
        max_prompt_bytes=max_prompt_bytes,
        max_connections=max_connections,
        max_compile_time=max_compile_time,
        timeout=timeout,
        queue_timeout=queue_timeout,
        shutdown_grace=shutdown_grace,
        spelling=None if spelling is None else spelling.value,
        strict_fields=strict_fields,
    )
    options = EngineOptions(
        num_slots=slots,
        max_length=max_length,
        num_speculative_tokens=speculate,
        num_threads=threads,
        complete_in_time=complete_in_time,
    )
    _check_port(host, port)
    typer.echo(f"Loading {model or 'SmolLM2-135M-Instruct'} ...", err=True)
    app = load_app(model, config, options)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if as_json:
        print_json({"api": f"{address}/v1", "playground": f"{address}/" if playground else None})
    else:
        typer.echo(f"The API is at {address}/v1, the playground at {address}/", err=True)
    listen(app, host=host, port=port, log_level=log_level)


def _check_port(host: str, port: int) -> None:
    """Say that a place is taken before the model is loaded, which takes long."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise OSError(f"cannot listen at {host}, port {port}: {error.strerror or error}") from error


def main() -> None:
    """Run the command by itself."""
    typer.run(serve)


if __name__ == "__main__":
    main()

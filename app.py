"""Starts the page: python app.py. Keeps to this machine unless told otherwise; asks no other host without --hub."""

import argparse
import os
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_XET"):
    os.environ.setdefault(name, "1")


def main() -> None:
    """Reads the command line and serves until interrupted."""
    parser = argparse.ArgumentParser(description="Sentence Encoder Explorer: compare sentence encoders in the browser.")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, help="port (default: the first free one from 7860)")
    parser.add_argument("--share", action="store_true", help="also open a public link through gradio's servers")
    parser.add_argument("--demo", action="store_true", help="public mode: smaller tables from visitors, no training")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, laid out as the README describes")
    parser.add_argument(
        "--hub", action="store_true", help="let the page download from the Hugging Face hub when asked to"
    )
    options = parser.parse_args()
    if not options.hub:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before the imports below: the libraries read it once
    from explorer.ui.app import serve

    serve(host=options.host, port=options.port, share=options.share, demo=options.demo, data=options.data)


if __name__ == "__main__":
    main()

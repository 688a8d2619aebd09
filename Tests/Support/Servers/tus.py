"""tuspyserver under uvicorn: tus.py PORT FOLDER. Uploads are created at /files/ and kept in FOLDER."""

import sys

import uvicorn
from fastapi import FastAPI
from tuspyserver import create_tus_router

application = FastAPI()
application.include_router(create_tus_router(prefix="files", files_dir=sys.argv[2]))
uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]))

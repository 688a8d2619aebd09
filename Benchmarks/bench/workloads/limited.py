"""Fetches one file over 16 connections from servers that limit each connection."""
from bench import bars
from bench.content import make_file
from bench.dld import Dld
from bench.jobs import downloads
from bench.race import Race
from bench.servers import SlowServer

CONNECTIONS = 16
SECONDS = 10
#: For our own server: 16,000 bytes every 8 ms are 2 MB/s.
PIECE, MILLISECONDS = 16_000, 8


def run(context):
    seconds = context.size(SECONDS, 4)
    source = context.work / "www" / "limited"
    # nginx limits each request, and sends the first second's bytes at once. So a file of 16 × limit × (1 + seconds) takes
    # `seconds` with 16 requests.
    make_file(source, CONNECTIONS * context.LIMIT * (1 + seconds))
    one_server(context, "limited by nginx", context.nginx.origin("limited"), source, seconds)
    make_file(source, CONNECTIONS * PIECE * 1000 // MILLISECONDS * seconds)
    context.expected.known.pop(source)
    with SlowServer(context.native, source, PIECE, MILLISECONDS) as server:
        one_server(context, "limited, paced", server.origin, source, seconds)
    source.unlink()


def one_server(context, work, origin, source, seconds):
    def make_job(out):
        return downloads(origin, ["limited"], out, connections=CONNECTIONS)

    daemons = [context.start(build) for build in context.builds]
    own = [Dld(build.name, daemon) for build, daemon in zip(context.builds, daemons)
           if daemon.accepts(connections=CONNECTIONS)]
    if len(own) < len(daemons):
        context.report.note("`connections` is refused by a build as not built yet: left out of the limited servers.")
    race = Race(context, work, make_job, lambda job: context.expected.check(source, job.pairs[0][1]))
    race.run([*own, *context.peers])
    for daemon in daemons:
        daemon.end()
    context.report.compare(race, "wall", bar=bars.LIMITED_IDEAL, ideal=float(seconds))
    context.report.compare(race, "wall", "aria2c")
    context.report.compare(race, "cpu", "aria2c")

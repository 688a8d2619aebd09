import ArgumentParser
import TransferClient
import TransferModel
import TransferRPC

struct MetricsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print figures of the running daemon for Prometheus.",
        discussion: """
            With --output, the file is replaced as a whole and everybody may read it, as the textfile collector of \
            node_exporter needs. Without a daemon, the exit status is 3, none is started, and the file stays as it was.

            EXAMPLES:
              dlctl metrics
              dlctl metrics --output /var/lib/prometheus/node-exporter/dld.prom
            """)

    @Option("Write to this file.", "file", completion: .file())
    var output: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if output != nil, global.json {
            throw ValidationError("--output writes for Prometheus; use it without --json.")
        }
    }

    func run(_ session: CommandSession) async throws {
        var session = session
        session.access.mayStart = false
        let (text, metrics) = try await session.withDaemon { client in
            let metrics = try await client.call(Methods.daemonMetrics, Nothing())
            let (info, stats) = (
                try await client.call(Methods.daemonInfo, Nothing()),
                try await client.call(Methods.daemonStats, Nothing())
            )
            return (MetricsText(info, stats, metrics).text, metrics)
        }
        if session.console.json { return session.console.value(metrics) }
        guard let output else { return session.console.raw(text) }
        try PathText.check(output, of: "--output", in: session.currentFolder)
        guard WholeFile.write(text, to: session.absolute(output), mode: 0o644) else {
            throw CommandFailure.local("cannot write \(Printable.text(output))")
        }
    }
}

import TransferModel
import TransferRPC

/// The daemon's figures in the text format of Prometheus, version 0.0.4. No label names a task, a URL, a host, a path, a user
/// or a session.
package struct MetricsText: Sendable {
    package enum Kind: String {
        case gauge, counter
    }

    /// One line: a value and its labels.
    package struct Sample {
        let value: Double
        let labels: KeyValuePairs<String, String>

        package init(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
            self.value = value
            self.labels = labels
        }
    }

    package private(set) var text = ""

    /// What is said of a daemon that does not answer.
    package static let away: MetricsText = {
        var metrics = MetricsText()
        metrics.addUp(0)
        return metrics
    }()

    private init() {}

    /// Asks a daemon for its figures.
    package static func read(_ client: DaemonClient) async throws -> MetricsText {
        MetricsText(
            try await client.call(Methods.daemonInfo, Nothing()), try await client.call(Methods.daemonStats, Nothing()),
            try await client.call(Methods.daemonMetrics, Nothing()))
    }

    package init(_ info: DaemonInfo, _ stats: DaemonStats, _ metrics: DaemonMetrics) {
        addUp(1)
        add(
            "dld_build_info", .gauge, "Versions of dld and of its libraries.",
            [Sample(1, ["version": info.version, "libcurl": info.libcurl, "sqlite": info.sqlite])])
        addTasks(metrics)
        addTransfers(stats, metrics)
        add("dld_events_head", .gauge, "Number of the newest stored event.", Double(stats.head.rawValue))
        add(
            "dld_subscriber_lag_events", .gauge, "Events that the slowest subscriber has not been sent.",
            Double(metrics.subscriberLag))
        add("dld_store_commit_seconds", "Duration of commits of the state database.", metrics.storeCommits)
        add("dld_file_sync_seconds", "Duration of syncs of files, folders and file systems.", metrics.fileSyncs)
        add(
            "dld_network_metered", .gauge, "Whether the network is metered; absent if unknown.",
            stats.isMetered.map { $0 ? 1 : 0 })
        addProcess(info, stats, metrics)
    }

    private mutating func addUp(_ value: Double) { add("dld_up", .gauge, "Whether dld answers.", value) }

    private mutating func addTasks(_ metrics: DaemonMetrics) {
        add(
            "dld_tasks", .gauge, "Tasks by state and kind.",
            metrics.tasks.map { Sample(Double($0.count), ["state": $0.state.rawValue, "kind": $0.kind.rawValue]) })
        add(
            "dld_tasks_waiting", .gauge, "Waiting tasks by reason.",
            metrics.waiting.sorted { $0.key < $1.key }.map { Sample(Double($0.value), ["reason": $0.key]) })
        add(
            "dld_tasks_finished_total", .counter, "Ends of tasks by kind, outcome and code of the error.",
            metrics.finished.map {
                Sample(
                    Double($0.count),
                    ["kind": $0.kind.rawValue, "outcome": $0.outcome.rawValue, "code": $0.code ?? ""])
            })
    }

    private mutating func addTransfers(_ stats: DaemonStats, _ metrics: DaemonMetrics) {
        add("dld_active_transfers", .gauge, "Transfers that run now.", Double(stats.activeTransfers))
        add("dld_received_bytes_total", .counter, "Bytes received.", Double(stats.bytesReceived.rawValue))
        add("dld_sent_bytes_total", .counter, "Bytes sent.", Double(stats.bytesSent.rawValue))
        add(
            "dld_http_responses_total", .counter, "Answers of HTTP servers by class of their status.",
            metrics.responses.sorted { $0.key < $1.key }.map { Sample(Double($0.value), ["class": $0.key]) })
    }

    private mutating func addProcess(_ info: DaemonInfo, _ stats: DaemonStats, _ metrics: DaemonMetrics) {
        add(
            "dld_process_resident_memory_bytes", .gauge, "Resident memory of dld.",
            stats.memory > 0 ? Double(stats.memory.rawValue) : nil)
        add(
            "dld_process_cpu_seconds_total", .counter, "Processor time of dld in user and kernel mode.",
            metrics.cpuTime?.rawValue)
        add("dld_process_open_fds", .gauge, "Open file descriptors of dld.", metrics.openDescriptors.map { Double($0) })
        add(
            "dld_process_start_time_seconds", .gauge, "When dld started, in seconds since 1970.",
            Double(info.startedAt.rawValue) / 1000)
    }

    // MARK: Lines

    /// Adds a metric with its samples, in order; nothing if there are none.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        begin(name, kind.rawValue, help)
        for sample in samples { line(name, sample) }
    }

    private mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
        add(name, kind, help, value.map { [Sample($0)] } ?? [])
    }

    private mutating func add(_ name: String, _ help: String, _ histogram: DaemonMetrics.Histogram) {
        begin(name, "histogram", help)
        for bucket in histogram.buckets {
            line(name + "_bucket", Sample(Double(bucket.count), ["le": Self.number(bucket.le)]))
        }
        line(name + "_bucket", Sample(Double(histogram.count), ["le": "+Inf"]))
        line(name + "_sum", Sample(histogram.sum.rawValue))
        line(name + "_count", Sample(Double(histogram.count)))
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ sample: Sample) {
        let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text += name + (labels.isEmpty ? "" : "{\(labels)}") + " \(Self.number(sample.value))\n"
    }

    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? "\(value)"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

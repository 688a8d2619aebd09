import Foundation
import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import TransferClient

/// What Prometheus reads, and what is made for it in config/.
@Suite struct MetricsTextTests {
    private static let config = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "config")

    private func metrics(_ change: (inout DaemonInfo, inout DaemonStats, inout DaemonMetrics) -> Void = { _, _, _ in })
        -> MetricsText
    {
        var info = DaemonInfo(
            name: "dld", version: "1.2", protocol: 1, pid: 2, uid: UserID(3), mode: .user, socket: "/s",
            stateDirectory: "/home/anna", startedAt: Timestamp(milliseconds: 1_700_000_000_250), libcurl: "8.1",
            sqlite: "3.45", features: [])
        var stats = DaemonStats(
            tasks: ["queued": 1], activeTransfers: 4, downloadRate: 2, uploadRate: 0,
            bytesReceived: .mebibytes(1 << 20),
            bytesSent: 7, memory: 4096, connections: 5, head: SequenceNumber(66), uptime: 7)
        stats.isMetered = true
        var metrics = DaemonMetrics()
        metrics.tasks = [
            .init(state: .queued, kind: .download, count: 1), .init(state: .failed, kind: .data, count: 0),
        ]
        metrics.waiting = ["retry": 0, "disk": 3]
        metrics.finished = [
            .init(kind: .data, outcome: .completed, count: 5),
            .init(kind: .upload, outcome: .failed, code: "http.status", count: 2),
        ]
        metrics.responses = ["2xx": 8, "1xx": 0]
        metrics.storeCommits = .init(
            buckets: [.init(le: 0.0025, count: 3), .init(le: 1, count: 4)], sum: 0.5, count: 6)
        metrics.subscriberLag = 9
        (metrics.cpuTime, metrics.openDescriptors) = (1.25, 41)
        change(&info, &stats, &metrics)
        return MetricsText(info, stats, metrics)
    }

    @Test func everyFigureHasItsLine() {
        let lines = metrics().text.split(separator: "\n").map(String.init)
        for line in [
            "dld_up 1", "dld_build_info{version=\"1.2\",libcurl=\"8.1\",sqlite=\"3.45\"} 1",
            "dld_tasks{state=\"queued\",kind=\"download\"} 1", "dld_tasks{state=\"failed\",kind=\"data\"} 0",
            "dld_tasks_waiting{reason=\"disk\"} 3", "dld_tasks_waiting{reason=\"retry\"} 0", "dld_active_transfers 4",
            "dld_received_bytes_total 1099511627776", "dld_sent_bytes_total 7",
            "dld_tasks_finished_total{kind=\"data\",outcome=\"completed\",code=\"\"} 5",
            "dld_tasks_finished_total{kind=\"upload\",outcome=\"failed\",code=\"http.status\"} 2",
            "dld_http_responses_total{class=\"2xx\"} 8", "dld_events_head 66", "dld_subscriber_lag_events 9",
            "dld_store_commit_seconds_bucket{le=\"0.0025\"} 3", "dld_store_commit_seconds_bucket{le=\"1\"} 4",
            "dld_store_commit_seconds_bucket{le=\"+Inf\"} 6", "dld_store_commit_seconds_sum 0.5",
            "dld_store_commit_seconds_count 6", "dld_file_sync_seconds_count 0", "dld_network_metered 1",
            "dld_process_resident_memory_bytes 4096", "dld_process_cpu_seconds_total 1.25", "dld_process_open_fds 41",
            "dld_process_start_time_seconds 1700000000.25",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(!metrics().text.contains("anna"))
        let named = lines.filter { $0.hasPrefix("# TYPE") }.compactMap { $0.split(separator: " ").dropFirst(2).first }
        #expect(Set(named).count == named.count && named.count == lines.count { $0.hasPrefix("# HELP") })
    }

    @Test func whatIsUnknownHasNoLine() {
        let text = metrics { _, stats, metrics in
            (stats.isMetered, stats.memory) = (nil, 0)
            (metrics.cpuTime, metrics.openDescriptors, metrics.finished) = (nil, nil, [])
        }.text
        for name in ["metered", "resident", "cpu", "open_fds", "finished"] { #expect(!text.contains(name)) }
    }

    @Test func labelsAreQuoted() {
        let text = metrics { info, _, _ in info.version = "a\"b\\c\nd" }.text
        #expect(text.contains(#"version="a\"b\\c\nd","#))
    }

    @Test func anAwayDaemonIsDownAndNothingElse() {
        #expect(MetricsText.away.text == "# HELP dld_up Whether dld answers.\n# TYPE dld_up gauge\ndld_up 0\n")
    }

    /// Names that the daemon does not have would give empty panels and silent alerts.
    @Test(arguments: ["dld-board.json", "dld-alerts.yaml"])
    func panelsAndRulesAskForFiguresThatThereAre(_ name: String) throws {
        let text = try String(contentsOf: Self.config.appending(path: name), encoding: .utf8)
        if name.hasSuffix("json") { _ = try JSONCoding.decode(JSONValue.self, from: Array(text.utf8)) }
        let known = metrics().text
        let asked = Set(text.matches(of: /dld_[a-z_]+/).map { String($0.0) })
        #expect(asked.count >= 3)
        for figure in asked { #expect(known.contains("\n\(figure)") || known.hasPrefix(figure), "\(figure)") }
    }

    @Test(.enabled(if: Requirements.has("promtool")))
    func rulesAreInForm() async throws {
        let rules = Self.config.appending(path: "dld-alerts.yaml").path
        let (status, output) = try await Program.run(["promtool", "check", "rules", rules])
        #expect(status == 0 && output.contains("4 rules found"), "\(output)")
    }

    /// Each alert comes of its cause, and none without one.
    @Test(
        .enabled(if: Requirements.has("promtool")),
        arguments: [
            ("DldAway", "dld_up{job=\"j\"}", "0x60"), ("", "dld_up{job=\"j\"}", "1x60"),
            ("DldAway", "node_textfile_mtime_seconds{job=\"j\",file=\"/d/dld.prom\"}", "0x60"),
            ("", "node_textfile_mtime_seconds{job=\"j\",file=\"/d/other.prom\"}", "0x60"),
            (
                "DldFailedShare", "dld_tasks_finished_total{job=\"j\",outcome=\"failed\",kind=\"data\",code=\"c\"}",
                "0+1x120"
            ),
            ("", "dld_tasks_finished_total{job=\"j\",outcome=\"completed\",kind=\"data\",code=\"\"}", "0+1x120"),
            ("DldWaitsForDisk", "dld_tasks_waiting{job=\"j\",reason=\"disk\"}", "1x60"),
            ("", "dld_tasks_waiting{job=\"j\",reason=\"retry\"}", "1x60"),
            ("DldSubscriberLag", "dld_subscriber_lag_events{job=\"j\"}", "10001x60"),
            ("", "dld_subscriber_lag_events{job=\"j\"}", "9000x60"),
        ])
    func eachAlertHasItsCause(_ alert: String, _ series: String, _ values: String) async throws {
        let folder = try TemporaryFolder()
        let rules = Self.config.appending(path: "dld-alerts.yaml").path
        let names = ["DldAway", "DldFailedShare", "DldWaitsForDisk", "DldSubscriberLag"]
        // ALERTS has a series for each alert that fires.
        let samples = alert.isEmpty ? "[]" : "[{labels: '{alertname=\"\(alert)\"}', value: 1}]"
        try Files.write(
            folder.file("test.yaml"),
            """
            rule_files: ['\(rules)']
            evaluation_interval: 1m
            tests:
              - interval: 1m
                input_series: [{series: '\(series)', values: '\(values)'}]
                promql_expr_test:
                  - expr: count by (alertname) (ALERTS{alertstate="firing",alertname=~"\(names.joined(separator: "|"))"})
                    eval_time: 55m
                    exp_samples: \(samples)
            """)
        let (status, output) = try await Program.run(["promtool", "test", "rules", folder.file("test.yaml")])
        #expect(status == 0, "\(output)")
    }
}

import TransferModel
import TransferRPC
import TransferStore

/// The stored metrics of exchanges, which a disk may have damaged: readable metrics are written as they were read, and
/// can be shown. Input: the stored bytes.
struct StoredMetricsProbe: Probe {
    var write: @Sendable (TaskMetrics) -> StoredMetrics?

    static let target = FuzzTarget(
        "stored-metrics", words: ["\u{1}", "\u{1}\0", "127.0.0.1", "TLSv1.3", "\u{7F}", "\0\0\0\0"],
        StoredMetricsProbe { StoredMetrics($0) },
        // The number of entries that were not kept is lost.
        planted: StoredMetricsProbe { StoredMetrics(TaskMetrics($0.entries)) })

    func check(_ input: [UInt8]) throws {
        guard let metrics = StoredMetrics(bytes: input).metrics else { return }
        try hold(metrics.entries.count <= 100, "\(metrics.entries.count) entries")
        guard let written = write(metrics) else { return try hold(metrics.isEmpty, "nothing is written") }
        try hold(written.metrics == metrics, "\(metrics) comes back as \(String(describing: written.metrics))")
        for entry in metrics.entries { _ = JSONCoding.encode(ExchangeView(entry)) }
    }
}

import Threading
import TransferModel

/// Remembers long configurations of sessions. Each task needs the configuration of its session, and in a database from
/// before the bounds one configuration may have megabytes. Decoding it for every task would delay all tasks.
enum KnownConfigurations {
    private struct Known {
        var text: String
        var configuration: SessionConfiguration
    }

    /// Decoding a shorter one costs microseconds.
    private static let leastLength = 1 << 10
    /// Bytes of all texts together; beyond this, all are forgotten.
    private static let most = 64 << 20

    private struct Memory {
        var known: [SessionKey: Known] = [:]
        var bytes = 0
    }

    private static let memory = Guarded(Memory())

    /// - Throws: `internal` if the text cannot be read.
    static func configuration(of key: SessionKey, _ text: String) throws -> SessionConfiguration {
        let length = text.utf8.count
        guard length >= leastLength else { return try JSONColumn.decode(text) }
        // Whatever is stored by now, an equal text means the same.
        if let known = memory.withLock({ $0.known[key] }), known.text == text { return known.configuration }
        let configuration: SessionConfiguration = try JSONColumn.decode(text)
        memory.withLock { memory in
            if memory.bytes + length > most { memory = Memory() }
            memory.bytes += length - (memory.known[key]?.text.utf8.count ?? 0)
            memory.known[key] = Known(text: text, configuration: configuration)
        }
        return configuration
    }
}

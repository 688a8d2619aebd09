import TransferModel

/// The metrics of a task's exchanges in the form that the store keeps. They are encoded before they reach the store's
/// writing thread. They take a third of the space of a JSON document, and no number is converted to text.
///
/// One byte for the format, the number of older entries that were dropped, then the entries, each after its length.
/// Numbers have seven bits per byte, the low ones first (LEB128); negative numbers do not occur and are stored as 0.
package struct StoredMetrics: Sendable, Hashable {
    private static let format: UInt8 = 1

    package let bytes: [UInt8]

    /// nil if there are none.
    package init?(_ metrics: TaskMetrics) {
        if metrics.isEmpty { return nil }
        self.init(writing: metrics)
    }

    package init(bytes: [UInt8]) { self.bytes = bytes }

    private init(writing metrics: TaskMetrics) {
        var writer = MetricsWriter()
        writer.bytes.reserveCapacity(16 + metrics.entries.count * 128)
        writer.bytes.append(Self.format)
        writer.add(Int64(metrics.dropped))
        var entry = MetricsWriter()
        for metrics in metrics.entries {
            entry.bytes.removeAll(keepingCapacity: true)
            entry.add(metrics)
            writer.add(Int64(entry.bytes.count))
            writer.bytes += entry.bytes
        }
        bytes = writer.bytes
    }

    /// These after the stored ones.
    func appended(to stored: StoredMetrics?) -> StoredMetrics {
        guard let earlier = stored?.metrics, !earlier.isEmpty, let own = metrics else { return self }
        var all = earlier
        all.add(own)
        return StoredMetrics(writing: all)
    }

    /// nil if the format is another, or the bytes are damaged.
    package var metrics: TaskMetrics? {
        var reader = MetricsReader(bytes[...])
        guard reader.byte() == Self.format, let dropped = reader.number() else { return nil }
        var entries: [ExchangeMetrics] = []
        while !reader.isAtEnd {
            guard let length = reader.number(), let part = reader.take(length) else { return nil }
            var entry = MetricsReader(part)
            guard let metrics = entry.entry() else { return nil }
            entries.append(metrics)
        }
        return TaskMetrics(entries, dropped: Int(clamping: dropped))
    }
}

/// Which members an entry has, and its Boolean members.
private struct Members: OptionSet {
    let rawValue: Int64
    static let lookup = Members(rawValue: 1)
    static let connect = Members(rawValue: 2)
    static let secure = Members(rawValue: 4)
    static let request = Members(rawValue: 8)
    static let response = Members(rawValue: 16)
    static let reused = Members(rawValue: 32)
    static let proxy = Members(rawValue: 64)
    static let remote = Members(rawValue: 128)
    static let local = Members(rawValue: 256)
    static let tls = Members(rawValue: 512)
    static let cached = Members(rawValue: 1024)

    static let intervals: [(Members, WritableKeyPath<ExchangeMetrics, ExchangeMetrics.Interval?> & Sendable)] = [
        (.lookup, \.domainLookup), (.connect, \.connect), (.secure, \.secureConnection), (.request, \.request),
        (.response, \.response),
    ]
}

extension ExchangeMetrics.TransferProtocol {
    /// 0 is none. Stored: never changes.
    fileprivate var code: Int64 {
        switch self {
        case .http10: 1
        case .http11: 2
        case .http2: 3
        case .http3: 4
        case .ftp: 5
        case .ftps: 6
        case .sftp: 7
        }
    }

    fileprivate init?(code: Int64) {
        guard let known = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = known
    }
}

private struct MetricsWriter {
    var bytes: [UInt8] = []

    mutating func add(_ value: Int64) {
        var rest = UInt64(max(0, value))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func add(_ text: String) {
        add(Int64(text.utf8.count))
        bytes += text.utf8
    }

    mutating func add(_ interval: ExchangeMetrics.Interval?) {
        guard let interval else { return }
        add(interval.start)
        add(interval.end - interval.start)
    }

    mutating func add(_ endpoint: ExchangeMetrics.Endpoint?) {
        guard let endpoint else { return }
        add(endpoint.address)
        add(Int64(endpoint.port))
    }

    mutating func add(_ entry: ExchangeMetrics) {
        var members: Members = entry.isReused ? .reused : []
        if entry.domainLookup != nil { members.insert(.lookup) }
        if entry.connect != nil { members.insert(.connect) }
        if entry.secureConnection != nil { members.insert(.secure) }
        if entry.request != nil { members.insert(.request) }
        if entry.response != nil { members.insert(.response) }
        if entry.proxy != nil { members.insert(.proxy) }
        if entry.remote != nil { members.insert(.remote) }
        if entry.local != nil { members.insert(.local) }
        if entry.tls != nil { members.insert(.tls) }
        if entry.isFromCache { members.insert(.cached) }
        add(members.rawValue)
        add(entry.transferProtocol?.code ?? 0)
        add(entry.fetchStart)
        add(entry.domainLookup)
        add(entry.connect)
        add(entry.secureConnection)
        add(entry.request)
        add(entry.response)
        if let proxy = entry.proxy { add(proxy) }
        add(entry.remote)
        add(entry.local)
        if let tls = entry.tls {
            add(tls.version)
            add(tls.cipher)
        }
        add(entry.requestHeaderBytes)
        add(entry.requestBodyBytes)
        add(entry.responseHeaderBytes)
        add(entry.responseBodyBytes)
    }
}

private struct MetricsReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// nil if the bytes end early, or the number has more than 63 bits.
    mutating func number() -> Int64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(value) }
        }
        return nil
    }

    mutating func take(_ count: Int64) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    private mutating func text() -> String? {
        number().flatMap { take($0) }.flatMap { String(validating: $0, as: UTF8.self) }
    }

    private mutating func interval() -> ExchangeMetrics.Interval? {
        guard let start = number(), let length = number() else { return nil }
        let (end, isTooLong) = start.addingReportingOverflow(length)
        return isTooLong ? nil : ExchangeMetrics.Interval(start, end)
    }

    private mutating func endpoint() -> ExchangeMetrics.Endpoint? {
        guard let address = text(), let port = number().flatMap({ UInt16(exactly: $0) }) else { return nil }
        return ExchangeMetrics.Endpoint(address, port)
    }

    /// nil if it is damaged.
    mutating func entry() -> ExchangeMetrics? {
        guard let bits = number(), let code = number(), let start = number() else { return nil }
        let members = Members(rawValue: bits)
        var entry = ExchangeMetrics(fetchStart: start)
        entry.isReused = members.contains(.reused)
        entry.isFromCache = members.contains(.cached)
        entry.transferProtocol = ExchangeMetrics.TransferProtocol(code: code)
        for (member, path) in Members.intervals where members.contains(member) {
            guard let interval = interval() else { return nil }
            entry[keyPath: path] = interval
        }
        guard readConnection(members, into: &entry) else { return nil }
        let counts: [WritableKeyPath<ExchangeMetrics, Int64>] = [
            \.requestHeaderBytes, \.requestBodyBytes, \.responseHeaderBytes, \.responseBodyBytes,
        ]
        for count in counts {
            guard let value = number() else { return nil }
            entry[keyPath: count] = value
        }
        return entry
    }

    private mutating func readConnection(_ members: Members, into entry: inout ExchangeMetrics) -> Bool {
        if members.contains(.proxy) { entry.proxy = text() }
        if members.contains(.remote) { entry.remote = endpoint() }
        if members.contains(.local) { entry.local = endpoint() }
        if members.contains(.tls), let version = text(), let cipher = text() {
            entry.tls = ExchangeMetrics.TLS(version: version, cipher: cipher)
        }
        return members.contains(.proxy) == (entry.proxy != nil) && members.contains(.remote) == (entry.remote != nil)
            && members.contains(.local) == (entry.local != nil) && members.contains(.tls) == (entry.tls != nil)
    }
}

extension StoreSnapshot {
    /// The metrics of the exchanges of the task's earlier runs; empty if none are stored or they cannot be read.
    package func metrics(of id: TaskID) throws -> TaskMetrics { try storedMetrics(of: id)?.metrics ?? TaskMetrics() }

    func storedMetrics(of id: TaskID) throws -> StoredMetrics? {
        try rows("SELECT metrics FROM task WHERE id = ?", id.rawValue).next()
            .flatMap { $0[0] as [UInt8]? }.map { StoredMetrics(bytes: $0) }
    }
}

extension StoreTransaction {
    /// Appends the metrics of a run's exchanges, if the run's end is stored separately.
    package func add(_ metrics: StoredMetrics, to id: TaskID) throws {
        let all = metrics.appended(to: try storedMetrics(of: id))
        try execute("UPDATE task SET metrics = ? WHERE id = ?", all.bytes, id.rawValue)
    }
}

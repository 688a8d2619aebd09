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
        var writer = MetricsCoder()
        writer.written.reserveCapacity(16 + metrics.entries.count * 128)
        writer.written.append(Self.format)
        writer.write(Int64(metrics.dropped))
        var part = MetricsCoder()
        for var entry in metrics.entries {
            part.written.removeAll(keepingCapacity: true)
            part.code(&entry)
            writer.write(Int64(part.written.count))
            writer.written += part.written
        }
        bytes = writer.written
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
        guard bytes.first == Self.format else { return nil }
        var reader = MetricsCoder(reading: bytes.dropFirst())
        let dropped = reader.number()
        var entries: [ExchangeMetrics] = []
        while !reader.isDamaged, !reader.rest.isEmpty {
            var part = MetricsCoder(reading: reader.take(reader.number()))
            var entry = ExchangeMetrics(fetchStart: 0)
            part.code(&entry)
            if part.isDamaged { return nil }
            entries.append(entry)
        }
        return reader.isDamaged ? nil : TaskMetrics(entries, dropped: Int(clamping: dropped))
    }
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

/// Writes an entry, or reads it into one that is given: one order of members for both.
private struct MetricsCoder {
    var written: [UInt8] = []
    /// What is still to be read.
    private(set) var rest: ArraySlice<UInt8> = []
    private let isReading: Bool
    /// The bytes end early, or do not say a value.
    private(set) var isDamaged = false

    init() { isReading = false }
    init(reading bytes: ArraySlice<UInt8>) { (rest, isReading) = (bytes, true) }

    mutating func write(_ value: Int64) {
        var rest = UInt64(max(0, value))
        while rest >= 0x80 {
            written.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        written.append(UInt8(rest))
    }

    /// Has at most 63 bits.
    mutating func number() -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = rest.popFirst() else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(value) }
        }
        isDamaged = true
        return 0
    }

    mutating func take(_ count: Int64) -> ArraySlice<UInt8> {
        if count > rest.count { isDamaged = true }
        let taken = rest.prefix(Int(clamping: count))
        rest = rest.dropFirst(taken.count)
        return taken
    }

    private mutating func code(_ value: inout Int64) {
        if isReading { value = number() } else { write(value) }
    }

    private mutating func code(_ text: inout String) {
        if !isReading {
            write(Int64(text.utf8.count))
            written += text.utf8
        } else if let read = String(validating: take(number()), as: UTF8.self) {
            text = read
        } else {
            isDamaged = true
        }
    }

    private mutating func code(_ interval: inout ExchangeMetrics.Interval?, if isThere: Bool) {
        guard isThere else { return }
        var (start, length) = interval.map { ($0.start, $0.end - $0.start) } ?? (0, 0)
        code(&start)
        code(&length)
        let (end, isTooLong) = start.addingReportingOverflow(length)
        if isTooLong { isDamaged = true }
        if isReading { interval = ExchangeMetrics.Interval(start, end) }
    }

    private mutating func code(_ endpoint: inout ExchangeMetrics.Endpoint?, if isThere: Bool) {
        guard isThere else { return }
        var (address, port) = endpoint.map { ($0.address, Int64($0.port)) } ?? ("", 0)
        code(&address)
        code(&port)
        if UInt16(exactly: port) == nil { isDamaged = true }
        if isReading { endpoint = ExchangeMetrics.Endpoint(address, UInt16(clamping: port)) }
    }

    /// The first number says by bits which members an entry has, and its Boolean members.
    mutating func code(_ entry: inout ExchangeMetrics) {
        var bits: Int64 = isReading ? 0 : Self.bits(of: entry)
        code(&bits)
        func isThere(_ place: Int) -> Bool { bits & 1 << place != 0 }
        (entry.isReused, entry.isFromCache) = (isThere(5), isThere(10))
        var kind = entry.transferProtocol?.code ?? 0
        code(&kind)
        entry.transferProtocol = ExchangeMetrics.TransferProtocol(code: kind)
        code(&entry.fetchStart)
        code(&entry.domainLookup, if: isThere(0))
        code(&entry.connect, if: isThere(1))
        code(&entry.secureConnection, if: isThere(2))
        code(&entry.request, if: isThere(3))
        code(&entry.response, if: isThere(4))
        if isThere(6) {
            var proxy = entry.proxy ?? ""
            code(&proxy)
            entry.proxy = proxy
        }
        code(&entry.remote, if: isThere(7))
        code(&entry.local, if: isThere(8))
        if isThere(9) {
            var tls = entry.tls ?? ExchangeMetrics.TLS(version: "", cipher: "")
            code(&tls.version)
            code(&tls.cipher)
            entry.tls = tls
        }
        code(&entry.requestHeaderBytes)
        code(&entry.requestBodyBytes)
        code(&entry.responseHeaderBytes)
        code(&entry.responseBodyBytes)
    }

    private static func bits(of entry: ExchangeMetrics) -> Int64 {
        let members = [
            entry.domainLookup != nil, entry.connect != nil, entry.secureConnection != nil, entry.request != nil,
            entry.response != nil, entry.isReused, entry.proxy != nil, entry.remote != nil, entry.local != nil,
            entry.tls != nil, entry.isFromCache,
        ]
        return members.enumerated().reduce(0) { $1.element ? $0 | 1 << $1.offset : $0 }
    }
}

extension StoreSnapshot {
    /// The metrics of the exchanges of the task's earlier runs; empty if none are stored or they cannot be read.
    package func metrics(of id: TaskID) throws -> TaskMetrics { try storedMetrics(of: id)?.metrics ?? TaskMetrics() }

    func storedMetrics(of id: TaskID) throws -> StoredMetrics? {
        try rows("SELECT metrics FROM task WHERE id = ?", id).next()
            .flatMap { $0[0] as [UInt8]? }.map { StoredMetrics(bytes: $0) }
    }
}

extension StoreTransaction {
    /// Appends the metrics of a run's exchanges, if the run's end is stored separately.
    package func add(_ metrics: StoredMetrics, to id: TaskID) throws {
        let all = metrics.appended(to: try storedMetrics(of: id))
        try execute("UPDATE task SET metrics = ? WHERE id = ?", all.bytes, id)
    }
}

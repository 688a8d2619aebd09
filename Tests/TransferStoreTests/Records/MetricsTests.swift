import Testing
import TransferModel

@testable import TransferStore

@Suite struct MetricsTests {
    private static var full: ExchangeMetrics {
        var entry = ExchangeMetrics(fetchStart: 1_773_146_096_000_123)
        entry.domainLookup = .init(0, 12)
        entry.connect = .init(12, 130)
        entry.secureConnection = .init(130, 128_000)
        entry.request = .init(128_000, 128_000)
        entry.response = .init(200_000, 7_200_000_000_000)
        entry.transferProtocol = .http2
        entry.isReused = true
        entry.proxy = "proxy.example:3128"
        entry.remote = .init("2001:db8::1", 443)
        entry.local = .init("192.0.2.7", 65_535)
        entry.tls = .init(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
        entry.requestHeaderBytes = 240
        entry.requestBodyBytes = .max
        entry.responseHeaderBytes = 300
        entry.responseBodyBytes = 1 << 40
        return entry
    }

    @Test func entriesComeBackAsTheyWere() throws {
        var entries = [Self.full, ExchangeMetrics(fetchStart: 7)]
        for kind in ExchangeMetrics.TransferProtocol.allCases {
            var entry = ExchangeMetrics(fetchStart: 8)
            entry.transferProtocol = kind
            entries.append(entry)
        }
        entries[1].isFromCache = true
        let metrics = TaskMetrics(entries, dropped: 300)
        let stored = try #require(StoredMetrics(metrics))
        #expect(stored.metrics == metrics)
        #expect(StoredMetrics(bytes: stored.bytes).metrics == metrics)
        #expect(StoredMetrics(TaskMetrics()) == nil)
    }

    /// A typical exchange takes little space in its row.
    @Test func aSmallDownloadTakesLessThanAHundredBytes() throws {
        var entry = Self.full
        (entry.proxy, entry.tls, entry.secureConnection) = (nil, nil, nil)
        (entry.requestBodyBytes, entry.responseBodyBytes) = (0, 4096)
        entry.remote = .init("127.0.0.1", 8080)
        #expect(try #require(StoredMetrics(TaskMetrics([entry]))).bytes.count < 100)
    }

    @Test func whatIsDamagedIsNotRead() throws {
        let bytes = try #require(StoredMetrics(TaskMetrics([Self.full, Self.full], dropped: 1))).bytes
        for length in 0..<bytes.count where length != 2 {
            let isWhole = StoredMetrics(bytes: Array(bytes[..<length])).metrics.map { $0.entries.count == 1 } ?? false
            #expect(!isWhole || length == (bytes.count - 2) / 2 + 2, "\(length)")
        }
        #expect(StoredMetrics(bytes: [2] + bytes.dropFirst()).metrics == nil)
        #expect(StoredMetrics(bytes: [1, 0] + [UInt8](repeating: 0xFF, count: 20)).metrics == nil)
        // Every byte may have any other value. The reader must not trap.
        for place in bytes.indices {
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var changed = bytes
                changed[place] = value
                _ = StoredMetrics(bytes: changed).metrics
            }
        }
    }

    @Test func laterRunsAreAppendedWithinTheBound() throws {
        let first = try #require(StoredMetrics(TaskMetrics((0..<90).map { ExchangeMetrics(fetchStart: $0) })))
        let second = try #require(StoredMetrics(TaskMetrics((90..<120).map { ExchangeMetrics(fetchStart: $0) })))
        let all = try #require(second.appended(to: first).metrics)
        #expect(all.entries.map(\.fetchStart) == Array(20..<120) && all.dropped == 20)
        #expect(second.appended(to: nil) == second)
        #expect(second.appended(to: StoredMetrics(bytes: [9])) == second)
    }
}

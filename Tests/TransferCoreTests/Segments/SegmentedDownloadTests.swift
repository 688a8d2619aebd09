import Testing
import TransferModel

@testable import TransferCore

struct SegmentedDownloadTests {
    private static let size = 6 << 20
    private static let first = version(1)
    private static let second = version(2)
    private static let versions = ["\"v1\"": first, "\"v2\"": second]

    static func version(_ seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(state: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        while bytes.count < size { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return bytes
    }

    private func parts(
        _ seed: UInt64 = 1, _ answer: @escaping (Int, Exchange) -> ScriptedParts.Answer? = { _, _ in nil }
    )
        -> ScriptedParts
    {
        var parts = ScriptedParts(Self.versions, seed: seed)
        parts.answer = answer
        return parts
    }

    @Test func fetchesThePartsSideBySide() throws {
        var origin = parts()
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival?.total == ByteCount(Int64(Self.size)) && attempt.arrival?.lengthProven == true)
        #expect(origin.holdsExactly == Self.first)
        #expect(origin.peak == 4 && origin.overwritten == 0 && origin.bytesSent == Self.size)
        #expect(origin.exchanges[0].header("range") == nil, "the first is an ordinary request")
        for exchange in origin.exchanges.dropFirst() {
            #expect(exchange.header("if-range") == "\"v1\"")
            #expect(ScriptedParts.range(exchange, of: Self.size) != nil)
            #expect(exchange.network.httpVersion == .v11)
        }
    }

    @Test func partsOfAFewBytesEndTheAttemptAfterAWhile() throws {
        var origin = parts { number, _ in number == 0 ? .cut(after: 1000) : .short(1) }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.failure?.disposition == .transient(after: nil))
        #expect(attempt.failure?.error.code == .httpProtocol)
        #expect(origin.exchanges.count < 30)
    }

    @Test func staysWithOneStreamWhereNothingProvesTheVersion() throws {
        var weak = ScriptedParts(["W/\"v1\"": Self.first])
        weak.etag = "W/\"v1\""
        let overWeak = try weak.attempt(.fixed(4))
        var none = parts()
        none.acceptRanges = "none"
        let overNone = try none.attempt(.fixed(4))
        var small = ScriptedParts(["\"v1\"": Array(Self.first.prefix(1 << 20))])
        let ofSmall = try small.attempt(.fixed(4))
        for attempt in [overWeak, overNone, ofSmall] { #expect(attempt.arrival != nil) }
        for origin in [weak, none, small] { #expect(origin.exchanges.count == 1 && origin.peak == 1) }
    }

    @Test func otherMethodsAndOneConnectionHaveNoSegments() throws {
        #expect(try StrategyRegistry.segmented(for: request { $0.method = "POST" }, .fixed(4)) == nil)
        let withBody = request { spec in
            spec.method = "GET"
            spec.body = RequestBody()
            spec.body?.text = "query"
        }
        #expect(try StrategyRegistry.segmented(for: withBody, .fixed(4)) == nil)
        #expect(try StrategyRegistry.segmented(for: request("ftp://example.org/a"), .fixed(4)) == nil)
        #expect(try StrategyRegistry.segmented(for: request(), .fixed(1)) == nil)
        #expect(try StrategyRegistry.segmented(for: request(), .automatic) != nil)
    }

    /// The k-th part belongs to another version. The download starts over, and versions are not mixed.
    @Test(arguments: 1...5)
    func aChangedPartRestartsEverything(_ part: Int) throws {
        for answer: ScriptedParts.Answer in [
            .other(etag: "\"v2\""), .whole(etag: "\"v2\""), .wrongStart, .wrongTotal, .unsatisfied,
        ] {
            var origin = parts(UInt64(part)) { number, _ in number == part ? answer : nil }
            let attempt = try origin.attempt(.fixed(6))
            #expect(attempt.restarts.map(\.code) == [.validatorChanged], "\(answer)")
            #expect(attempt.arrival != nil && origin.holdsExactly == Self.first, "\(answer)")
        }
    }

    @Test func aResourceThatChangesMidwayArrivesAsOneVersion() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var origin = parts(seed) { number, exchange in
                guard number >= 3 else { return nil }
                return exchange.header("if-range") == "\"v1\"" ? .whole(etag: "\"v2\"") : .other(etag: "\"v2\"")
            }
            let attempt = try origin.attempt(.fixed(4))
            #expect(attempt.arrival != nil)
            #expect(origin.holdsExactly == Self.second)
        }
    }

    /// Behind one name are servers with different versions. In the end the download uses one stream.
    @Test func aTagForEachConnectionEndsInOneStream() throws {
        let names = (0..<40).map { "\"n\($0)\"" }
        var origin = ScriptedParts(Dictionary(uniqueKeysWithValues: names.map { ($0, Self.first) }))
        origin.etag = names[0]
        origin.answer = { number, _ in .whole(etag: names[number]) }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.first)
        #expect(attempt.restarts.count == SegmentedDownload.restartLimit)
    }

    @Test func aServerThatGivesNoPartsIsReadOverOneConnection() throws {
        var origin = parts { _, _ in .whole(etag: "\"v1\"") }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival != nil && attempt.restarts.isEmpty && origin.holdsExactly == Self.first)
        #expect(origin.bytesSent == Self.size, "the first answer brings everything")
    }

    @Test func rangesDroppedMidwayCostARestartAtMost() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var origin = parts(seed) { number, _ in number >= 4 ? .whole(etag: "\"v1\"") : nil }
            origin.answer = { number, _ in
                number >= 4 ? .whole(etag: "\"v1\"") : number == 0 ? .cut(after: 200_000) : nil
            }
            let attempt = try origin.attempt(.fixed(3))
            #expect(attempt.arrival != nil && origin.holdsExactly == Self.first)
            #expect(attempt.restarts.count <= 1)
        }
    }

    @Test func triesWithoutIfRangeWhereThatBringsEverything() throws {
        var origin = parts { number, _ in number > 0 ? .wholeToIfRange : nil }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival != nil && attempt.restarts.isEmpty && origin.holdsExactly == Self.first)
        #expect(origin.exchanges.contains { $0.header("range") != nil && $0.header("if-range") == nil })
    }

    /// The server accepts k connections, and they do the rest of the work.
    @Test(arguments: [1, 2, 5], [429, 503, 7])
    func refusedConnectionsLeaveTheWorkToTheOthers(_ taken: Int, _ status: Int) throws {
        var origin = parts()
        origin.capacity = (taken, status == 7 ? .refused : .status(status, retryAfter: "2"))
        let attempt = try origin.attempt(.fixed(16))
        #expect(attempt.arrival != nil && attempt.restarts.isEmpty)
        #expect(origin.holdsExactly == Self.first && origin.overwritten == 0)
    }

    @Test func brokenPartsAreFetchedAgainWhileOthersGoOn() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var origin = parts(seed) { number, _ in
                switch number {
                case 1: .cut(after: 100_000)
                case 2: .short(50_000)
                case 3: .stalled(after: 70_000)
                default: nil
                }
            }
            let attempt = try origin.attempt(.fixed(4))
            #expect(attempt.arrival != nil && origin.holdsExactly == Self.first)
            #expect(origin.bytesSent == Self.size && origin.overwritten == 0)
        }
    }

    @Test func theAttemptFailsWhenAllFail() throws {
        var origin = parts { _, _ in .cut(after: 90_000) }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.failure?.disposition == .transient(after: nil) && attempt.failure?.progressed == true)
        var refused = parts { _, _ in .status(503, retryAfter: "7") }
        let whenRefused = try refused.attempt(.fixed(4))
        #expect(whenRefused.failure?.disposition == .transient(after: 7))
        var missing = parts { _, _ in .status(404, retryAfter: nil) }
        let whenMissing = try missing.attempt(.fixed(4))
        #expect(whenMissing.failure?.disposition == .permanent)
    }

    @Test func aFullDiskStopsThemAll() throws {
        var origin = parts { number, _ in number == 2 ? .diskFull : nil }
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.failure?.disposition == .disk && attempt.failure?.error.code == .diskFull)
    }

    /// Wherever the file was cut, and however many connections continue, no held byte is requested again.
    @Test(arguments: [1, 2, 4, 16])
    func resumesWithGaps(_ connections: Int) throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var origin = parts(seed) { number, _ in .cut(after: 100_000 * (number + 1)) }
            let cut = try origin.attempt(.fixed(8))
            #expect(cut.arrival == nil)
            let checkpoint = try #require(cut.checkpoint)
            #expect(!checkpoint.ranges.isEmpty)
            origin.answer = { _, _ in nil }
            let (before, requests) = (origin.bytesSent, origin.exchanges.count)
            let attempt = try origin.attempt(.fixed(connections), checkpoint: checkpoint)
            #expect(attempt.arrival != nil && origin.holdsExactly == Self.first && origin.overwritten == 0)
            #expect(origin.bytesSent - before == Self.size - Int(checkpoint.held.rawValue))
            #expect(origin.exchanges.dropFirst(requests).allSatisfy { $0.header("if-range") == "\"v1\"" })
        }
    }

    @Test func aChangedResourceIsNotResumedIntoItsGaps() throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var origin = parts(seed) { number, _ in .cut(after: 100_000 * (number + 1)) }
            let cut = try origin.attempt(.fixed(8))
            let checkpoint = try #require(cut.checkpoint)
            origin.answer = { _, _ in nil }
            origin.etag = "\"v2\""
            let attempt = try origin.attempt(.fixed(3), checkpoint: checkpoint)
            #expect(attempt.arrival != nil && attempt.restarts.map(\.code) == [.validatorChanged])
            #expect(origin.holdsExactly == Self.second)
        }
    }

    @Test func manyFaultsEndInOneWholeVersion() throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            var generator = SeededGenerator(state: seed)
            var origin = parts(seed)
            var checkpoint: Checkpoint?
            var last: ScriptedParts.Attempt?
            for round in 0..<30 {
                let faults: [ScriptedParts.Answer?] = (0..<40).map { _ in
                    guard round < 20, Int.random(in: 0..<3, using: &generator) == 0 else { return nil }
                    let count = Int.random(in: 0...400_000, using: &generator)
                    return [
                        .cut(after: count), .short(count + 1), .refused, .status(503, retryAfter: nil),
                        .stalled(after: count), .aborted(after: count), .wholeToIfRange, .unsatisfied,
                        .other(etag: "\"v2\""), .whole(etag: "\"v2\""), .whole(etag: "\"v1\""),
                    ].randomElement(using: &generator)
                }
                origin.answer = { number, _ in faults[number % faults.count] }
                let connections = Int.random(in: 1...8, using: &generator)
                let attempt = try origin.attempt(.fixed(max(2, connections)), checkpoint: checkpoint)
                checkpoint = attempt.checkpoint
                last = attempt
                if attempt.arrival != nil { break }
            }
            #expect(last?.arrival != nil)
            let whole = origin.holdsExactly
            #expect(whole == Self.first || whole == Self.second, "seed \(seed)")
        }
    }
}

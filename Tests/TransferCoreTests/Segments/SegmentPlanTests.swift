import Testing
import TransferModel

@testable import TransferCore

/// Segments that run in memory and whose ends may move.
final class SimulatedEnds: SegmentEnds {
    struct Segment {
        var position: Int64
        var end: Int64
        var isClosed = false
    }
    var segments: [SegmentID: Segment] = [:]

    func position(of segment: SegmentID) -> ByteCount { ByteCount(segments[segment]?.position ?? 0) }

    func shrink(_ id: SegmentID, to end: ByteCount) -> ByteCount {
        guard var segment = segments[id] else { return end }
        if !segment.isClosed { segment.end = max(segment.position, min(segment.end, end.rawValue)) }
        segments[id] = segment
        return ByteCount(segment.end)
    }

    func extend(_ id: SegmentID, to end: ByteCount) -> Bool {
        guard let segment = segments[id], !segment.isClosed else { return false }
        segments[id]?.end = max(segment.end, end.rawValue)
        return true
    }
}

/// A plan, and a server that advances its segments as a test says.
struct SimulatedServer {
    var plan: SegmentPlan
    let ends = SimulatedEnds()
    var fetched: [ByteRange] = []
    var peak = 0

    init(_ plan: SegmentPlan) { self.plan = plan }

    mutating func adopt(from start: Int64) {
        plan.adopt(0, from: ByteCount(start))
        ends.segments[0] = .init(position: start, end: plan.total.rawValue)
    }

    @discardableResult
    mutating func open() -> [SegmentPlan.Opened] {
        let opened = plan.open(ends)
        for segment in opened {
            ends.segments[segment.id] = .init(
                position: segment.range.start.rawValue, end: segment.range.end.rawValue)
        }
        peak = max(peak, plan.running.count)
        return opened
    }

    /// The segment takes up to `count` bytes. Returns true if it has ended.
    mutating func advance(_ id: SegmentID, by count: Int64) -> Bool {
        guard var segment = ends.segments[id] else { return true }
        segment.position = min(segment.end, segment.position + count)
        segment.isClosed = segment.position >= segment.end
        ends.segments[id] = segment
        return segment.isClosed
    }

    mutating func end(_ id: SegmentID) {
        guard let segment = ends.segments.removeValue(forKey: id), let start = plan.running[id]?.range.start else {
            return
        }
        if segment.position > start.rawValue { fetched.append(ByteRange(start, ByteCount(segment.position))) }
        plan.ended(id, at: ByteCount(segment.position))
    }

    /// Checks that every byte is in exactly one range, and that no more than `limit` connections are open.
    func check(atMost limit: Int) {
        let places = plan.held.ranges + plan.running.values.map(\.range).filter { !$0.isEmpty } + plan.gaps
        let sorted = places.sorted { $0.start < $1.start }
        #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.end == $1.start }, "\(sorted)")
        if plan.total > .zero { #expect(sorted.first?.start == .zero && sorted.last?.end == plan.total) }
        #expect(plan.running.count <= limit)
        for (id, segment) in plan.running { #expect(ends.segments[id]?.end == segment.range.end.rawValue) }
    }
}

struct SegmentPlanTests {
    private static let mebibyte: Int64 = 1 << 20

    private func server(_ total: Int64, _ policy: ConnectionPolicy, held: [ByteRange] = []) -> SimulatedServer {
        SimulatedServer(
            SegmentPlan(total: ByteCount(total), held: ByteRangeSet(held), policy: policy, at: 0))
    }

    @Test(arguments: [2, 5, 16, 64])
    func cutsIntoEqualPieces(_ count: Int) {
        let total = 640 * Self.mebibyte
        var server = server(total, .fixed(count))
        server.adopt(from: 0)
        let opened = server.open()
        #expect(opened.count == count - 1)
        server.check(atMost: count)
        let sizes = server.plan.running.values.map { $0.range.count.rawValue }
        let share = total / Int64(count)
        #expect(sizes.allSatisfy { abs($0 - share) <= 4096 * Int64(count) }, "\(sizes)")
    }

    @Test func smallFilesAreNotShattered() {
        var server = server(5 * Self.mebibyte / 2, .fixed(16))
        server.adopt(from: 0)
        let opened = server.open()
        #expect(opened.count == 1)
    }

    @Test func whoeverIsDoneTakesHalfOfTheLargestRest() throws {
        var server = server(100 * Self.mebibyte, .fixed(2))
        server.adopt(from: 0)
        let opened = server.open()
        let second = try #require(opened.first)
        _ = server.advance(0, by: 10 * Self.mebibyte)
        _ = server.advance(second.id, by: 100 * Self.mebibyte)
        server.end(second.id)
        let next = server.open()
        let third = try #require(next.first)
        #expect(third.range == range(30 * Self.mebibyte, 50 * Self.mebibyte))
        #expect(server.plan.running[0]?.range == range(0, 30 * Self.mebibyte))
        server.check(atMost: 2)
    }

    @Test func gapsComeFirstAndOneAfterTheOtherOverOneConnection() {
        let held = [range(0, 10), range(20, 30), range(50, 60)]
        var server = server(70, .fixed(1), held: held)
        var order: [ByteRange] = []
        while let next = server.open().first {
            order.append(next.range)
            _ = server.advance(next.id, by: 100)
            server.end(next.id)
            server.check(atMost: 1)
        }
        #expect(order == [range(10, 20), range(30, 50), range(60, 70)])
        #expect(server.plan.isComplete)
    }

    @Test func aRefusedPieceGoesBackToTheFirstConnection() throws {
        var server = server(8 * Self.mebibyte, .fixed(2))
        server.adopt(from: 0)
        let opened = server.open()
        server.end(try #require(opened.first).id)
        server.plan.failed(retryAfter: nil, at: 0)
        let again = server.open()
        #expect(again.isEmpty)
        #expect(server.plan.running[0]?.range == range(0, 8 * Self.mebibyte))
        server.check(atMost: 2)
    }

    @Test func oneConnectionIsAlwaysTried() {
        var server = server(100, .fixed(4))
        server.plan.failed(retryAfter: 60, at: 0)
        let opened = server.open()
        #expect(opened.count == 1)
    }

    @Test func aSegmentThatIsAheadKeepsWhatItTook() throws {
        var server = server(100 * Self.mebibyte, .fixed(2))
        server.adopt(from: 0)
        // The segment takes more bytes between the plan's check and the new end.
        let ends = LateEnds(server.ends, ahead: 60 * Self.mebibyte)
        let opened = server.plan.open(ends)
        let second = try #require(opened.first)
        #expect(second.range == range(60 * Self.mebibyte, 100 * Self.mebibyte))
        #expect(server.plan.running[0]?.range == range(0, 60 * Self.mebibyte))
    }

    private final class LateEnds: SegmentEnds {
        let ends: SimulatedEnds
        let ahead: Int64
        init(_ ends: SimulatedEnds, ahead: Int64) { (self.ends, self.ahead) = (ends, ahead) }
        func position(of segment: SegmentID) -> ByteCount { ends.position(of: segment) }
        func extend(_ segment: SegmentID, to end: ByteCount) -> Bool { ends.extend(segment, to: end) }
        func shrink(_ segment: SegmentID, to end: ByteCount) -> ByteCount {
            ends.segments[segment]?.position = ahead
            return ends.shrink(segment, to: end)
        }
    }

    /// Of sixteen equal connections the last ends shortly after the first.
    @Test(arguments: [16, 40, 160, 1000] as [Int64], [250_000, 1_000_000, 8_000_000] as [Int64])
    func keepsAllConnectionsBusyToTheEnd(_ size: Int64, _ rate: Int64) {
        let total = size * Self.mebibyte
        var server = server(total, .fixed(16))
        server.adopt(from: 0)
        server.open()
        var generator = SeededGenerator(state: 5)
        var time: Int64 = 0
        while !server.plan.isComplete, time < 10_000_000 {
            time += 20
            for id in server.plan.running.keys.sorted() {
                // Some are a little faster than others.
                let share = rate / 50 * Int64.random(in: 80...120, using: &generator) / 100
                if server.advance(id, by: share) { server.end(id) }
            }
            if time % 500 == 0 { server.plan.sampled(spare: 0, at: time, server.ends) }
            server.open()
        }
        let ideal = Double(total) / Double(16 * rate) * 1000
        #expect(Double(time) <= ideal * 1.1 + 40, "\(time) ms, ideal \(ideal)")
        server.check(atMost: 16)
    }

    @Test(arguments: 0..<300)
    func anyServerEndsWithEveryByteOnce(_ seed: Int) {
        var generator = SeededGenerator(state: UInt64(seed))
        let total =
            Int64.random(in: 0...48, using: &generator) * Self.mebibyte / 2
            + Int64.random(in: 0...5000, using: &generator)
        let limit = Int.random(in: 1...20, using: &generator)
        let policy: ConnectionPolicy = Bool.random(using: &generator) ? .fixed(limit) : .adaptive(atMost: limit)
        var held: [ByteRange] = []
        for _ in 0..<Int.random(in: 0...6, using: &generator) where total > 0 {
            let start = Int64.random(in: 0..<total, using: &generator)
            held.append(range(start, min(total, start + Int64.random(in: 1...3_000_000, using: &generator))))
        }
        let isFresh = Bool.random(using: &generator)
        var server = server(total, policy, held: isFresh ? [] : held)
        let before = server.plan.held
        if isFresh, total > 0 { server.adopt(from: 0) }
        let taken = Int.random(in: 1...limit, using: &generator)
        var (now, steps) = (Int64(0), 0)
        while !server.plan.isComplete, steps < 20_000 {
            steps += 1
            now += 100
            step(&server, taken: taken, steps: steps, at: now, &generator)
            server.check(atMost: limit)
        }
        #expect(server.plan.isComplete, "after \(steps) steps")
        var all = before
        var sum = before.count
        for range in server.fetched {
            sum += range.count
            all.insert(range)
        }
        #expect(all.covers(ByteCount(total)))
        #expect(sum == ByteCount(total), "no byte came twice")
        #expect(server.peak <= limit)
    }

    /// One random event happens: bytes, an end, a failure, or a rate sample. The server serves only `taken`
    /// connections.
    private func step(
        _ server: inout SimulatedServer, taken: Int, steps: Int, at now: Int64, _ generator: inout SeededGenerator
    ) {
        guard let id = server.plan.running.keys.sorted().randomElement(using: &generator) else {
            server.open()
            return
        }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0 where steps < 10_000:
            server.end(id)
            server.plan.failed(retryAfter: nil, at: now)
        case 1 where server.plan.running.count > taken && steps < 10_000:
            server.end(id)
            server.plan.failed(retryAfter: Seconds(1), at: now)
        case 2: server.plan.sampled(spare: 4, at: now, server.ends)
        case 3: server.plan.accepted(at: now)
        default:
            if server.advance(id, by: Int64.random(in: 0...400_000, using: &generator)) { server.end(id) }
        }
        server.open()
    }
}

import Testing
import TransferModel

@testable import TransferCore

/// What every strategy must do, whatever its protocol.
struct StrategyContractTests {
    struct Subject: Sendable, CustomTestStringConvertible {
        var url: String
        var canResume: Bool
        var testDescription: String { String(url.prefix { $0 != ":" }) }
    }

    static let content = Array("The quick brown fox jumps over the lazy dog".utf8)
    static let protocols = URLScheme.allCases.map { scheme in
        let url =
            switch scheme {
            case .http, .https, .ftp, .ftps, .sftp, .helper: "\(scheme.rawValue)://example.org/pub/file.bin"
            case .file: "file:///pub/file.bin"
            case .data: "data:,The%20quick%20brown%20fox%20jumps%20over%20the%20lazy%20dog"
            }
        return Subject(url: url, canResume: scheme != .data)
    }

    @Test(arguments: protocols)
    func deliversTheWhole(_ subject: Subject) throws {
        var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
        let attempt = try ScriptedAttempt.run(subject.url, &origin, part: &part)
        #expect(part == Self.content)
        #expect(attempt.arrival?.total == ByteCount(Int64(Self.content.count)))
        #expect(attempt.arrival?.lengthProven == true)
        #expect(attempt.restarts.isEmpty)
    }

    @Test(arguments: protocols)
    func resumesAtEachCutPoint(_ subject: Subject) throws {
        for cut in 0..<Self.content.count {
            var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
            origin.faults = [.cut(after: cut)]
            let first = try ScriptedAttempt.run(subject.url, &origin, part: &part)
            #expect(first.failure?.disposition == .transient(after: nil))
            if subject.canResume { #expect(first.failure?.progressed == (cut > 0)) }
            let before = origin.bytesSent
            let second = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: first.checkpoint)
            #expect(second.arrival?.lengthProven == true, "cut after \(cut)")
            #expect(part == Self.content)
            let resent = origin.bytesSent - before
            #expect(resent == (subject.canResume ? Self.content.count - cut : Self.content.count))
        }
    }

    @Test(arguments: protocols)
    func neverSplicesTwoVersions(_ subject: Subject) throws {
        guard subject.canResume else { return }
        let changed = Self.content.map { $0 ^ 1 }
        for cut in 0...Self.content.count {
            var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
            origin.faults = [.cut(after: cut)]
            let first = try ScriptedAttempt.run(subject.url, &origin, part: &part)
            // All bytes of one version are a complete file, whatever version the server has now.
            let isWhole = cut == Self.content.count && ["http", "help"].contains(subject.url.prefix(4))
            origin.content = changed
            origin.version = 2
            let second = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: first.checkpoint)
            #expect(second.arrival != nil)
            #expect(part == (isWhole ? Self.content : changed), "cut after \(cut)")
        }
    }

    @Test(arguments: protocols)
    func aShortBodyIsNotTheWhole(_ subject: Subject) throws {
        var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
        origin.faults = [.shortBody(5)]
        let first = try ScriptedAttempt.run(subject.url, &origin, part: &part)
        #expect(first.arrival == nil)
        #expect(first.failure?.disposition == .transient(after: nil))
        let second = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: first.checkpoint)
        #expect(second.arrival != nil)
        #expect(part == Self.content)
    }

    @Test(arguments: protocols)
    func aRefusedConnectionIsTriedAgain(_ subject: Subject) throws {
        var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
        origin.faults = [.refused]
        let first = try ScriptedAttempt.run(subject.url, &origin, part: &part)
        #expect(first.failure?.disposition == .transient(after: nil))
        #expect(first.failure?.error.code == .networkConnect)
        #expect(first.failure?.progressed == false)
        _ = try ScriptedAttempt.run(subject.url, &origin, part: &part)
        #expect(part == Self.content)
    }

    @Test(arguments: protocols)
    func continuesAfterAnAbort(_ subject: Subject) throws {
        var (origin, part) = (ScriptedOrigin(Self.content), [UInt8]())
        origin.faults = [.aborted(after: 9)]
        let first = try ScriptedAttempt.run(subject.url, &origin, part: &part)
        #expect(first.arrival == nil && first.failure == nil)
        let second = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: first.checkpoint)
        #expect(second.arrival != nil)
        #expect(part == Self.content)
    }

    @Test(arguments: protocols)
    func survivesManyFaults(_ subject: Subject) throws {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<50 {
            var (origin, part, held) = (ScriptedOrigin(Self.content), [UInt8](), Checkpoint?.none)
            for _ in 0..<40 {
                let count = Int.random(in: 0...6, using: &generator)
                let fault: [ScriptedOrigin.Fault] = [
                    .cut(after: count), .shortBody(count), .refused, .aborted(after: count),
                ]
                origin.faults = fault.randomElement(using: &generator).map { [$0] } ?? []
                if Int.random(in: 0..<8, using: &generator) == 0 {
                    origin.version += 1
                    origin.content = origin.content.map { $0 &+ 1 }
                }
                let attempt = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: held)
                held = attempt.checkpoint
                if attempt.arrival != nil { break }
            }
            origin.faults = []
            let last = try ScriptedAttempt.run(subject.url, &origin, part: &part, checkpoint: held)
            #expect(last.arrival != nil)
            let steps = Set(zip(part, Self.content).map { $0 &- $1 })
            #expect(steps.count == 1, "the bytes are of one version")
            #expect(part.count == Self.content.count)
        }
    }
}

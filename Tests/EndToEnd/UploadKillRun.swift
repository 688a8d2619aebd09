import Glibc
import TestSupport
import Testing
import TransferModel

/// One upload whose daemon is killed at random again and again; what its server recorded tells whether that cost
/// anything.
struct UploadKillRun {
    static let kills = 5
    static let isLong = getenv("DLD_LONG_TESTS").map { String(cString: $0) } == "1"

    static let large = Content(seed: 61, size: (isLong ? 256 : 64) << 20)
    static let medium = isLong ? large : Content(seed: 62, size: 24 << 20)
    static let small = Content(seed: 63, size: 12 << 20)

    /// Tells runs apart in what they print, and makes their kills differ.
    var name: String
    var content: Content
    /// Seconds that the upload would take if nobody disturbed it, so that most kills find bytes on their way. It cannot
    /// be over before the last kill where `server` does not read on beyond `last`.
    var pace = 4.0
    /// Whether each kill comes later in the file than the one before, as where the upload continues.
    var isContinued = true
    /// Reads no further than `last` while kills are to come; nil where the server is a real one, which nothing holds.
    var server: UploadServer?
    /// Requests so far; where the upload does not continue, each kill waits for the next one.
    var attempts: () -> Int = { .max }
    var environment: [String: String] = [:]
    /// Whether the first kill may come.
    var isReady: (Scene) async throws -> Bool = { _ in true }
    /// Does what a user does after each restart.
    var afterwards: (RPCProbe, Int64) async throws -> Void = { _, _ in }

    struct Ending {
        var task: JSONValue
        /// Offsets of the task's `task.resumed` events.
        var resumed: [Int]
        /// What the server had at least when each kill came.
        var marks: [Int]
    }

    /// The last byte that a kill waits for.
    private var last: Int { content.size / 5 * 4 }

    /// - Parameter held: bytes that the server has of the upload, or of its present attempt.
    func run(to url: String, _ more: [String: JSONValue] = [:], held: () -> Int) async throws -> Ending {
        server?.hold(isContinued ? .files(last) : .body(last))
        var random = SeededGenerator(announcing: "upload killed, \(name)")
        let hasty = Int.random(in: 0..<Self.kills, using: &random)
        var marks: [Int] = []
        var scene = try await Scene(environment: environment)
        let rate: [String: JSONValue] = ["rateLimit": .integer(Int64(Double(content.size) / pace))]
        let id = try await scene.upload(content, to: url, rate.merging(more) { $1 })
        var earlier = 0
        for kill in 0..<Self.kills {
            let mark = nextMark(after: kill, isContinued ? held() : 0, &random)
            marks.append(mark)
            try #require(
                try await eventually(every: 0.01) {
                    guard attempts() > earlier, held() >= mark else { return false }
                    return kill > 0 ? true : try await isReady(scene)
                },
                "\(name): kill \(kill) at \(mark), the server has \(held())")
            earlier = isContinued ? 0 : attempts()
            scene = try await scene.restarted()
            try await afterwards(scene.probe, id)
            // One more, wherever the new daemon has got to by then.
            guard kill == hasty else { continue }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300, using: &random)))
            earlier = isContinued ? 0 : attempts()
            scene = try await scene.restarted()
            try await afterwards(scene.probe, id)
        }
        server?.release()
        try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
        let task = try await scene.probe.wait(for: id, "completed")
        return Ending(task: task, resumed: try await scene.resumptions(id), marks: marks)
    }

    /// Beyond what is there, so that each daemon has to bring something before it dies; the last fifth is left for the end.
    private func nextMark(after kill: Int, _ held: Int, _ random: inout SeededGenerator) -> Int {
        let room = last - held
        let step = Int.random(in: 1...max(1, isContinued ? room / (Self.kills - kill) : room), using: &random)
        return min(last, held + step)
    }
}

extension UploadKillRun.Ending {
    /// What holds for every upload that continues: its figures are whole, its offsets never go back.
    func expectContinued(_ content: Content) {
        #expect(task["bytesSent"]?.integerValue == Int64(content.size))
        #expect(task["bytesToSend"]?.integerValue == Int64(content.size))
        #expect(resumed == resumed.sorted())
        #expect((resumed.last ?? 0) >= (marks.last ?? .max))
    }
}

import Glibc
import TestSupport
import Testing
import TransferModel

/// One upload whose daemon is killed at random several times. The server's records show whether that cost anything.
struct UploadKillRun {
    static let kills = 5
    static let isLong = getenv("DLD_LONG_TESTS").map { String(cString: $0) } == "1"

    static let large = Content(seed: 61, size: (isLong ? 256 : 64) << 20)
    static let medium = isLong ? large : Content(seed: 62, size: 24 << 20)
    static let small = Content(seed: 63, size: 12 << 20)

    /// Distinguishes runs in their output, and makes their kills differ.
    var name: String
    var content: Content
    /// The seconds that the undisturbed upload would take, so that most kills find bytes in flight.
    var pace = 4.0
    /// Tells whether each kill comes later in the file than the previous one, because the upload resumes.
    var isContinued = true
    /// Reads no further than each kill may come.
    var server: any UploadHolder
    /// The number of requests so far. If the upload does not resume, each kill waits for the next request.
    var attempts: () -> Int = { .max }
    var environment: [String: String] = [:]
    /// Tells whether the first kill may come.
    var isReady: (Scene) async throws -> Bool = { _ in true }
    /// Does what a user does after each restart.
    var afterwards: (RPCProbe, Int64) async throws -> Void = { _, _ in }

    struct Ending {
        var task: JSONValue
        /// The offsets of the task's `task.resumed` events.
        var resumed: [Int]
        /// The least that the server had at each kill.
        var marks: [Int]
    }

    /// The last byte that a kill waits for. The last fifth is left for the end.
    private var last: Int { content.size / 5 * 4 }

    /// The bytes among which a kill comes. If the upload resumes, each daemon has its own stretch of the file. It has
    /// sent some of it before it dies, and no earlier daemon could have sent it.
    private func stretch(_ kill: Int) -> ClosedRange<Int> {
        guard isContinued else { return 1...last }
        let first = last / Self.kills * kill
        return (first + server.overrun + 1)...(first + last / Self.kills)
    }

    /// Lets the server read as far as a kill may come.
    private func hold(before kill: Int) {
        server.hold(isContinued ? .files(stretch(kill).upperBound) : .body(last))
    }

    /// - Parameter held: returns the bytes that the server has of the upload, or of its current attempt.
    func run(to url: String, _ more: [String: JSONValue] = [:], held: () -> Int) async throws -> Ending {
        var random = SeededGenerator(announcing: "upload killed, \(name)")
        let hasty = Int.random(in: 0..<Self.kills, using: &random)
        var marks: [Int] = []
        var scene = try await Scene(environment: environment)
        let rate: [String: JSONValue] = ["rateLimit": .integer(Int64(Double(content.size) / pace))]
        hold(before: 0)
        let id = try await scene.upload(content, to: url, rate.merging(more) { $1 })
        var earlier = 0
        for kill in 0..<Self.kills {
            hold(before: kill)
            let mark = Int.random(in: stretch(kill), using: &random)
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
            // One more kill, wherever the new daemon is by then.
            guard kill == hasty else { continue }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300, using: &random)))
            earlier = isContinued ? 0 : attempts()
            scene = try await scene.restarted()
            try await afterwards(scene.probe, id)
        }
        server.release()
        try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
        let task = try await scene.probe.wait(for: id, "completed")
        return Ending(task: task, resumed: try await scene.resumptions(id), marks: marks)
    }
}

extension UploadKillRun.Ending {
    /// What holds for every resumed upload: its figures are complete, and its offsets never decrease.
    func expectContinued(_ content: Content) {
        #expect(task["bytesSent"]?.integerValue == Int64(content.size))
        #expect(task["bytesToSend"]?.integerValue == Int64(content.size))
        #expect(resumed == resumed.sorted())
        #expect((resumed.last ?? 0) >= (marks.last ?? .max))
    }
}

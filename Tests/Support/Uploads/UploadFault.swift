import Glibc

/// Something an upload server does wrong, and at which requests: one word of the scripts that upload servers follow.
package struct UploadFault: Sendable {
    package enum Act: Sendable {
        // In place of what the protocol's rules say:

        /// Reads all, keeps nothing, and answers so.
        case answer(Int, [(String, String)] = [], body: String = "")
        /// Answers so before any of the body is read, and closes.
        case refuse(Int, [(String, String)] = [])
        /// Closes the connection when the head was read.
        case hangUp
        /// Says nothing until the other side goes.
        case stall
        /// Forgets the upload resource, then answers so.
        case lose(Int)

        // Before the rules act:

        /// Loses so many of the bytes it had confirmed.
        case forget(Int)

        // While they act:

        /// Closes the connection after so many bytes of the body.
        case cut(after: Int)
        /// Keeps only so many bytes of the body.
        case keep(Int)
        /// Reads only so many bytes of the body, answers at once, and closes.
        case stop(after: Int)

        // After they acted:

        /// Closes the connection in place of the answer.
        case loseAnswer
        /// Closes the connection when all but so many bytes of the answer's head are sent.
        case breakAnswer(missing: Int)
        /// Says that so many bytes are there.
        case claim(Int)
        /// Sets a field of the answer; nil leaves it out.
        case field(String, String?)
        case status(Int)
    }

    let phase: UploadPhase
    /// Which requests of the phase, from 1.
    let turns: ClosedRange<Int>
    let act: Act

    package static func on(_ phase: UploadPhase, _ turn: Int, _ act: Act) -> UploadFault {
        UploadFault(phase: phase, turns: turn...turn, act: act)
    }

    /// At the phase's first request.
    package static func on(_ phase: UploadPhase, _ act: Act) -> UploadFault { on(phase, 1, act) }

    /// At this request of the phase and all later ones.
    package static func always(_ phase: UploadPhase, from turn: Int = 1, _ act: Act) -> UploadFault {
        UploadFault(phase: phase, turns: turn...Int.max, act: act)
    }
}

/// What goes wrong with one request.
struct UploadDisturbance: Sendable {
    var acts: [UploadFault.Act] = []

    /// Body bytes after which the connection closes.
    var cut: Int? { first { if case .cut(let count) = $0 { count } else { nil } } }
    /// Body bytes that the rules get to see.
    var kept: Int? { first { if case .keep(let count) = $0 { count } else { nil } } }
    /// Body bytes that are read at all.
    var stop: Int? { first { if case .stop(let count) = $0 { count } else { nil } } }

    private func first(_ find: (UploadFault.Act) -> Int?) -> Int? { acts.lazy.compactMap(find).first }
}

extension UploadExchange {
    /// Answers by the rules, or by what the script puts in their place.
    func meet(_ rules: any UploadRules) throws {
        for act in disturbance.acts {
            switch act {
            case .answer(let status, let headers, let body):
                _ = try readAll()
                return try reply(status, headers, body: body)
            case .refuse(let status, let headers): return try reply(status, headers)
            case .hangUp: throw Gone()
            case .stall:
                waitForEnd()
                throw Gone()
            case .lose(let status):
                files.change(path) { $0.isDeleted = true }
                _ = try readAll()
                return try reply(status)
            case .forget(let count): files.change(path) { $0.bytes.removeLast(min(count, $0.bytes.count)) }
            case .cut, .keep, .stop, .loseAnswer, .breakAnswer, .claim, .field, .status: break
            }
        }
        try rules.answer(self)
    }

    /// Whether the body is asked for: one that is refused is not.
    var isWelcome: Bool {
        !disturbance.acts.contains { if case .refuse = $0 { true } else { false } }
    }

    /// The answer as it leaves, and how many bytes at the end of its head do not.
    func disturbed(
        _ status: Int, _ headers: [(String, String)], _ rules: any UploadRules
    ) throws -> (status: Int, headers: [(String, String)], missing: Int) {
        var (status, headers, missing) = (status, headers, 0)
        func set(_ name: String, _ value: String?) {
            headers.removeAll { $0.0.lowercased() == name.lowercased() }
            if let value { headers.append((name, value)) }
        }
        for act in disturbance.acts {
            switch act {
            case .loseAnswer: throw Gone()
            case .breakAnswer(let count): missing = count
            case .claim(let offset):
                let field = rules.claim(offset)
                set(field.0, field.1)
            case .field(let name, let value): set(name, value)
            case .status(let other): status = other
            case .answer, .refuse, .hangUp, .stall, .lose, .forget, .cut, .keep, .stop: break
            }
        }
        return (status, headers, missing)
    }
}

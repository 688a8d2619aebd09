import Glibc

/// A fault of an upload server, and the requests in which it occurs. Scripts of upload servers consist of these.
package struct UploadFault: Sendable {
    package enum Act: Sendable {
        // Instead of the protocol's rules:

        /// Reads everything, keeps nothing, and answers with this status.
        case answer(Int, [(String, String)] = [], body: String = "")
        /// Answers with this status before it reads any of the body, and closes.
        case refuse(Int, [(String, String)] = [])
        /// Closes the connection after it has read the header.
        case hangUp
        /// Sends nothing until the other side goes.
        case stall
        /// Forgets the upload resource, then answers with this status.
        case lose(Int)

        // Before the rules:

        /// Loses this many of the bytes that it had confirmed.
        case forget(Int)

        // During the rules:

        /// Closes the connection after this many bytes of the body.
        case cut(after: Int)
        /// Keeps only this many bytes of the body.
        case keep(Int)
        /// Reads only this many bytes of the body, answers at once, and closes.
        case stop(after: Int)

        // After the rules:

        /// Closes the connection instead of answering.
        case loseAnswer
        /// Sends the answer's header except for this many bytes, and closes the connection.
        case breakAnswer(missing: Int)
        /// Claims to have this many bytes.
        case claim(Int)
        /// Sets a field of the answer; nil omits it.
        case field(String, String?)
        case status(Int)
    }

    let phase: UploadPhase
    /// The requests of the phase in which it occurs, from 1.
    let turns: ClosedRange<Int>
    let act: Act

    package static func on(_ phase: UploadPhase, _ turn: Int, _ act: Act) -> UploadFault {
        UploadFault(phase: phase, turns: turn...turn, act: act)
    }

    /// In the phase's first request.
    package static func on(_ phase: UploadPhase, _ act: Act) -> UploadFault { on(phase, 1, act) }

    /// In this request of the phase and in all later ones.
    package static func always(_ phase: UploadPhase, from turn: Int = 1, _ act: Act) -> UploadFault {
        UploadFault(phase: phase, turns: turn...Int.max, act: act)
    }
}

/// The faults of one request.
struct UploadDisturbance: Sendable {
    var acts: [UploadFault.Act] = []

    /// The body bytes after which the connection closes.
    var cut: Int? { first { if case .cut(let count) = $0 { count } else { nil } } }
    /// The body bytes that the rules can see.
    var kept: Int? { first { if case .keep(let count) = $0 { count } else { nil } } }
    /// The body bytes that are read at all.
    var stop: Int? { first { if case .stop(let count) = $0 { count } else { nil } } }

    private func first(_ find: (UploadFault.Act) -> Int?) -> Int? { acts.lazy.compactMap(find).first }
}

extension UploadExchange {
    /// Answers by the rules, or with what the script has instead.
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

    /// Tells whether the body is read: it is not if the request is refused.
    var isWelcome: Bool {
        !disturbance.acts.contains { if case .refuse = $0 { true } else { false } }
    }

    /// The answer as it is sent, and how many bytes at the end of its header are not sent.
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

import ArgumentParser
import TransferModel
import TransferRPC

extension CompletionKind {
    /// Ids of tasks that the current command can act on, and ranges.
    static let tasks = CompletionKind.custom { words, index, _ in
        await CompletionRequest(words, index).answer { try await $0.tasks(over: $1) }
    }

    /// Names of sessions.
    static let sessions = CompletionKind.custom { words, index, _ in
        await CompletionRequest(words, index).answer { try await $0.sessions(over: $1) }
    }
}

/// A word that the shell can insert at the cursor.
struct Candidate: Hashable {
    var word: String
    /// The description that zsh and fish show next to it.
    var note = ""

    /// One line in the format that the shell's generated script reads.
    func line(for shell: CompletionShell?) -> String {
        switch shell {
        case .zsh?:
            let word = word.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
            return note.isEmpty ? word : "\(word):\(note)"
        case .fish?: return note.isEmpty ? word : "\(word)\t\(note)"
        // compgen -W expands its input, even commands, unless it is quoted.
        default: return "'" + word.replacing("'", with: "'\\''") + "'"
        }
    }
}

extension CompletionRequest {
    /// More candidates than a shell shows at once are useless.
    private static let mostTasks = 50

    /// Completes ids with the newest matching tasks.
    func tasks(over client: any DaemonCalling) async throws -> [Candidate] {
        let (head, prefix, floor) = Self.parts(word)
        guard prefix.allSatisfy(\.isASCIIDigit) else { return [] }
        var query = ListTasks(order: .newest, limit: 1, owner: owner)
        guard let newest = try await client.call(Methods.listTasks, query).tasks.first else { return [] }
        (query.states, query.kinds) = Self.filter(command)
        var found: [Candidate] = []
        for range in Self.ranges(prefix, above: floor, upTo: newest.id.rawValue) where found.count < Self.mostTasks {
            query.range = TaskRange(range)
            query.limit = Self.mostTasks - found.count
            for task in try await client.call(Methods.listTasks, query).tasks {
                let word = head + "\(task.id)"
                if others.contains(word) { continue }
                found.append(Candidate(word: word, note: "\(TaskName.of(task)), \(task.state.rawValue)"))
            }
        }
        return found
    }

    /// Splits a word into the text before the id at the cursor, the beginning of the id, and its lower bound. For
    /// `3-1`, these are `3-`, `1` and 3.
    static func parts(_ word: String) -> (head: String, prefix: String, floor: Int64) {
        guard let dash = word.firstIndex(of: "-") else { return ("", word, 0) }
        let head = word[...dash]
        return (String(head), String(word[word.index(after: dash)...]), Int64(head.dropLast()) ?? .max)
    }

    /// The ranges of all ids that begin with these digits, largest ids first.
    static func ranges(_ prefix: String, above floor: Int64, upTo newest: Int64) -> [ClosedRange<TaskID>] {
        var ranges: [ClosedRange<Int64>] = []
        if prefix.isEmpty {
            ranges = [1...max(1, newest)]
        } else if let number = Int64(prefix), prefix.first != "0" {
            var (first, width) = (number, Int64(1))
            while first <= newest {
                ranges.insert(first...min(first + width - 1, newest), at: 0)
                let (next, overflow) = first.multipliedReportingOverflow(by: 10)
                if overflow { break }
                (first, width) = (next, width * 10)
            }
        }
        return ranges.compactMap { range in
            range.upperBound > floor
                ? TaskID(max(range.lowerBound, floor + 1))...TaskID(range.upperBound) : nil
        }
    }

    /// The states and kinds of tasks that a command can act on.
    private static func filter(_ command: String) -> (states: [TaskState]?, kinds: [TaskKind]?) {
        let open: [TaskState] = [.queued, .running, .waiting, .paused]
        return switch command {
        case "pause": ([.queued, .running, .waiting], nil)
        case "resume": ([.paused], nil)
        case "cancel", "wait", "watch": (open, nil)
        case "retry": ([.waiting, .failed, .cancelled], nil)
        case "remove", "rm": (TaskState.allCases.filter(\.isFinal), nil)
        case "update": (open + [.failed, .cancelled], nil)
        case "fetch": ([.completed, .failed], [.data])
        default: (nil, nil)
        }
    }

    private static let mostSessions = 200

    /// Completes names of sessions.
    func sessions(over client: any DaemonCalling) async throws -> [Candidate] {
        let sessions = try await client.call(Methods.listSessions, ListSessions(owner: owner)).sessions
        return sessions.lazy.filter { $0.id.hasPrefix(word) && Self.isOffered($0.id) }
            .prefix(Self.mostSessions).map { Candidate(word: $0.id, note: $0.state.rawValue) }
    }

    /// bash expands parts of inserted text.
    private static func isOffered(_ name: String) -> Bool {
        let isExpanded = CompletionShell.requesting == .bash && name.contains { "$`".contains($0) }
        return name == Printable.text(name) && !isExpanded
    }
}

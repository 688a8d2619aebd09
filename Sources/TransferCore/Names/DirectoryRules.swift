import TransferModel

extension [DirectoryRule] {
    /// The directory of the first rule that matches; nil if none does.
    /// - Parameters:
    ///   - type: the media type of the answer, as Content-Type has it; nil if the server named none.
    ///   - name: the file's name.
    package func directory(type: String?, name: String) -> String? {
        let essence = type.map { [Character](MediaType.essence($0).lowercased()) }
        let name = [Character](name.lowercased())
        return first { rule in
            (rule.types?.contains { essence.map(Wildcard($0).matches) ?? false } ?? true)
                && (rule.names?.contains { Wildcard($0).matches(name) } ?? true)
        }?.directory
    }
}

/// A pattern in which `*` stands for any characters and `?` for one; the case of letters does not count.
struct Wildcard {
    private let pattern: [Character]

    init(_ pattern: String) { self.pattern = Array(pattern.lowercased()) }

    /// Takes at most the product of both lengths, whatever the pattern: only the last `*` is ever tried again.
    /// - Parameter text: in lower case.
    func matches(_ text: [Character]) -> Bool {
        var (place, next) = (0, 0)
        var star: (after: Int, at: Int)?
        while place < text.count {
            if next < pattern.count, pattern[next] == "*" {
                next += 1
                star = (next, place)
            } else if next < pattern.count, pattern[next] == "?" || pattern[next] == text[place] {
                (place, next) = (place + 1, next + 1)
            } else if let last = star {
                star = (last.after, last.at + 1)
                (place, next) = (last.at + 1, last.after)
            } else {
                return false
            }
        }
        return pattern[next...].allSatisfy { $0 == "*" }
    }
}

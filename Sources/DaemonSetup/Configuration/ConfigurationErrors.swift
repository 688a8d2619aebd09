/// All mistakes in the configuration, so that they can be corrected together.
package struct ConfigurationErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [ConfigurationProblem]

    /// Orders the problems of each file by their lines. Files come first, then the environment, then options.
    package init(_ problems: [ConfigurationProblem]) {
        var files: [String: Int] = [:]
        let ranked = problems.enumerated().map { index, problem in
            let rank: (Int, Int, Int)
            switch problem.place {
            case .file(let path, let line):
                let file = files[path] ?? files.count
                files[path] = file
                rank = (0, file, line ?? 0)
            case .environment: rank = (1, 0, 0)
            case .flag: rank = (2, 0, 0)
            case .runtime: rank = (3, 0, 0)
            case .byDefault: rank = (4, 0, 0)
            }
            return (key: (rank.0, rank.1, rank.2, index), problem: problem)
        }
        self.problems = ranked.sorted { $0.key < $1.key }.map(\.problem)
    }

    /// One line per problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// One mistake: its place, the setting, what is wrong and what to do.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    package enum Place: Hashable, Sendable {
        case file(String, line: Int?)
        /// A variable of the environment.
        case environment(String)
        /// An option of the command line.
        case flag(String)
        /// A value stored by `settings.set`.
        case runtime
        /// No origin sets the value.
        case byDefault

        var shown: String {
            switch self {
            case .file(let path, let line?): "\(path):\(line)"
            case .file(let path, nil): path
            case .environment(let variable): variable
            case .flag(let flag): flag
            case .runtime: "settings.set"
            case .byDefault: "default"
            }
        }
    }

    package var place: Place
    /// The name of the setting; empty if the whole file is at fault.
    package var name: String
    package var message: String

    package init(place: Place, name: String, message: String) {
        (self.place, self.name, self.message) = (place, name, message)
    }

    /// One line, in which characters that control a terminal are replaced.
    package var description: String {
        let text = "\(place.shown): " + (name.isEmpty ? message : "\(name): \(message)")
        guard text.unicodeScalars.contains(where: Self.isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { Self.isControl($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }
}

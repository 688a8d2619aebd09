import DaemonKit
import DaemonSetup
import Glibc
import TransferModel

/// Configuration from a file and from the environment: either every problem has its place and a message, or the values
/// are in force and each shown value is accepted again. Input: the file, then a line `--` and lines `DLD_NAME=value`.
struct ConfigurationProbe: Probe {
    var load: @Sendable (_ file: String, _ environment: [String: String]) throws -> Configuration

    static let target = FuzzTarget(
        "configuration",
        words: SettingsTable.all.map { $0.name + ": " } + SettingsTable.all.map { "\n--\n\($0.environmentName)=" }
            + [
                "session:\n  ", "retry:\n    ", "1.5G", "30d", "250ms", "none", "[a, b]", "&a ", "*a", "!!binary ",
                "|\n ", "? ",
                "---\n", "...\n", "\t", "{}", "~", "<<: ", "99999999999999999999", "-1", "nan", "0x10",
                "yes",
            ],
        ConfigurationProbe { try Self.load($0, $1) },
        // One variable is ignored.
        planted: ConfigurationProbe { file, environment in
            try Self.load(file, environment.filter { $0.key != "DLD_DISK_POLL_INTERVAL" })
        })

    private static func load(_ file: String, _ environment: [String: String]) throws -> Configuration {
        var arguments = DaemonArguments()
        arguments.configFile = file
        var variables = environment
        variables["XDG_RUNTIME_DIR"] = "/run/user/1000"
        variables["HOME"] = "/nowhere"
        return try ConfigurationLoader(arguments: arguments, environment: variables).load()
    }

    func check(_ input: [UInt8]) throws {
        let text = Array(input)
        let mark = Array("\n--\n".utf8)
        let place = text.indices.first { text[$0...].starts(with: mark) } ?? text.endIndex
        let file = try NamelessFile(Array(text[..<place]))
        let environment = Self.variables(text[place...].dropFirst(mark.count))
        let configuration: Configuration
        do {
            configuration = try load(file.path, environment)
        } catch let errors as ConfigurationErrors {
            try hold(!errors.problems.isEmpty, "refused without a reason")
            for problem in errors.problems {
                try hold(problem.message.hasSuffix(".") || problem.message.hasSuffix("?"), "\(problem)")
            }
            return
        }
        for setting in SettingsTable.all {
            let value = setting.read(configuration.settings)
            if let text = environment[setting.environmentName], !text.isEmpty {
                try hold(setting.kind.value(ofText: text) == value, "\(setting.name) is not what the environment says")
            }
            guard configuration.origin(of: setting.name) != .default else { continue }
            try hold(setting.kind.checked(value) != nil, "\(setting.name) is \(value), which it does not take")
        }
    }

    private static func variables(_ text: ArraySlice<UInt8>) -> [String: String] {
        var variables: [String: String] = [:]
        for line in text.split(separator: 10) {
            let pair = String(decoding: line, as: UTF8.self).split(separator: "=", maxSplits: 1)
            // No variable can contain a NUL.
            guard pair.count == 2, !line.contains(0) else { continue }
            variables[String(pair[0])] = String(pair[1])
        }
        return variables
    }
}

/// A file without a name, which is deleted with the object.
private final class NamelessFile {
    private let descriptor: Int32
    var path: String { "/proc/self/fd/\(descriptor)" }

    init(_ bytes: [UInt8]) throws {
        var name = Array("/tmp/configuration.XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        unlink(name)
        try hold(descriptor >= 0, "no file")
        let count = bytes.isEmpty ? 0 : bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        try hold(count == bytes.count, "the input does not fit into the file")
    }

    deinit { close(descriptor) }
}

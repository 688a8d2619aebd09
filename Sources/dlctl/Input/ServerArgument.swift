import ArgumentParser
import TransferModel

/// A server or proxy on the command line: `[SCHEME://]HOST[:PORT]`, with https as the default scheme.
///
/// If the text cannot be read, only the reason is kept: the argument parser would show the text, and a password in it.
struct ServerArgument: ExpressibleByArgument {
    let reading: Result<CredentialSpace, ValidationError>

    init(argument: String) {
        reading = Result { () throws(ValidationError) -> CredentialSpace in try Self.read(argument) }
    }

    private static func fault(_ reason: String) -> ValidationError { ValidationError("The server: \(reason)") }

    private static func read(_ argument: String) throws(ValidationError) -> CredentialSpace {
        var rest = argument[...]
        var scheme = "https"
        if let mark = argument.firstRange(of: "://") {
            scheme = argument[..<mark.lowerBound].lowercased()
            rest = argument[mark.upperBound...]
        }
        guard scheme == "http" || scheme == "https" else {
            throw fault("only servers and proxies of http and https have stored credentials.")
        }
        if rest.last == "/" { rest.removeLast() }
        if rest.contains("@") {
            throw fault(
                "give user name and password apart from it: --username NAME, and the password at the prompt.")
        }
        if rest.contains(where: { "/?#".contains($0) }) {
            throw fault("leave out the path; credentials are for all of a server. --realm narrows them.")
        }
        var port = scheme == "http" ? 80 : 443
        // The colons of an IPv6 address are inside brackets.
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else {
                throw fault("its port is a number from 1 to 65535.")
            }
            port = number
            rest = rest[..<colon]
        }
        if rest.first == "[", rest.last == "]" { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "[]".contains($0) || $0.isWhitespace }) else {
            throw fault("write it as HOST, HOST:PORT or SCHEME://HOST:PORT.")
        }
        return CredentialSpace(host: String(rest), port: port, protocol: scheme)
    }
}

/// ArgumentParser's description of the declared commands (`--experimental-dump-help`), as far as the manual page needs
/// it.
struct ToolInfo: Decodable {
    struct Command: Decodable {
        var commandName: String
        var superCommands: [String]?
        var shouldDisplay: Bool?
        var aliases: [String]?
        var abstract: String?
        var discussion: String?
        var subcommands: [Command]?
        var arguments: [Argument]?
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            enum Kind: String, Decodable { case long, short, longWithSingleDash }
            var kind: Kind
            var name: String

            var written: String { (kind == .long ? "--" : "-") + name }
        }

        enum Kind: String, Decodable { case positional, option, flag }

        var kind: Kind
        var shouldDisplay: Bool
        var sectionTitle: String?
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var allValues: [String]?
        var abstract: String?
        var discussion: String?
    }

    var command: Command
}

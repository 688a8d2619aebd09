/// The user who reads an answer: what advice they can follow, and how their commands find the daemon that answered.
struct Asker: Hashable, Sendable {
    /// How this program is called for the same daemon: `dlctl --system`.
    var program = "dlctl"
    /// Whether the user may change the daemon's settings.
    var mayConfigure = true

    /// Returns a command for the user to copy.
    func command(_ text: String) -> String {
        text.hasPrefix("dlctl ") ? program + text.dropFirst("dlctl".count) : text
    }

    func command(_ advice: Advice) -> Advice {
        var advice = advice
        advice.commands = advice.commands.map(command)
        return advice
    }
}

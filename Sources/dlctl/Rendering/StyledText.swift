/// The role of a piece of text. `Style` maps it to an appearance.
enum Tone: Hashable, Sendable {
    case plain, strong, faint, good, bad, warning, accent
}

/// A line under construction: text with its tones, so that widths are counted without escape sequences.
struct StyledText: Hashable, Sendable, ExpressibleByStringInterpolation {
    struct Span: Hashable, Sendable {
        var text: String
        var tone: Tone
    }

    private(set) var spans: [Span] = []

    init() {}
    init(_ text: String, _ tone: Tone = .plain) { if !text.isEmpty { spans = [Span(text: text, tone: tone)] } }
    init(stringLiteral value: String) { self.init(value) }

    var plain: String { spans.map(\.text).joined() }
    var width: Int { spans.reduce(0) { $0 + DisplayWidth.of($1.text) } }

    static func + (a: StyledText, b: StyledText) -> StyledText {
        var sum = a
        sum.spans += b.spans
        return sum
    }

    static func += (a: inout StyledText, b: StyledText) { a.spans += b.spans }

    mutating func append(_ text: String, _ tone: Tone = .plain) {
        if spans.last?.tone == tone { spans[spans.count - 1].text += text } else { self += StyledText(text, tone) }
    }

    /// The text cut to at most `width` cells.
    func cut(to width: Int) -> StyledText {
        if self.width <= width { return self }
        var room = max(0, width - 1)
        var result = StyledText()
        for span in spans {
            let cells = DisplayWidth.of(span.text)
            if cells <= room {
                result.spans.append(span)
                room -= cells
            } else {
                result.append(DisplayWidth.prefix(span.text, room) + (width > 0 ? "…" : ""), span.tone)
                break
            }
        }
        return result
    }

    /// Lines of at most `width` cells, broken at blanks. A longer word gets its own line.
    /// - Parameter indent: blanks before every line except the first.
    func wrapped(to width: Int, indent: Int = 0) -> [StyledText] {
        guard self.width > width else { return [self] }
        let margin = StyledText(String(repeating: " ", count: indent))
        var lines: [StyledText] = []
        var line = StyledText()
        var isEmpty = true
        for word in words {
            if !isEmpty, line.width + word.withoutTrailingBlanks.width > width {
                lines.append(line.withoutTrailingBlanks)
                (line, isEmpty) = (margin, true)
            }
            line += word
            isEmpty = false
        }
        return lines + [line]
    }

    /// The words, each with the blanks after it.
    private var words: [StyledText] {
        var words: [StyledText] = []
        var word = StyledText()
        var wasBlank = false
        for span in spans {
            for character in span.text {
                if wasBlank, character != " " {
                    words.append(word)
                    word = StyledText()
                }
                wasBlank = character == " "
                word.append(String(character), span.tone)
            }
        }
        return words + [word]
    }

    private var withoutTrailingBlanks: StyledText {
        var result = self
        while result.spans.last?.text.hasSuffix(" ") == true {
            result.spans[result.spans.count - 1].text.removeLast()
            if result.spans.last?.text.isEmpty == true { result.spans.removeLast() }
        }
        return result
    }
}

/// What the output supports: colours, and characters beyond ASCII.
struct Style: Hashable, Sendable {
    var colour: Bool
    var unicode: Bool

    static let plain = Style(colour: false, unicode: true)
    static let ascii = Style(colour: false, unicode: false)

    /// NO_COLOR (with any non-empty value) and TERM=dumb switch colours off. The locale's charset decides about the
    /// characters.
    init(terminal: Bool, environment: [String: String]) {
        let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        colour = terminal && !refused && environment["TERM"] != "dumb"
        let locale = [environment["LC_ALL"], environment["LC_CTYPE"], environment["LANG"]]
            .lazy.compactMap { $0 }.first { !$0.isEmpty }
        unicode = locale.map { $0.lowercased().contains("utf") } ?? false
    }

    init(colour: Bool, unicode: Bool) {
        self.colour = colour
        self.unicode = unicode
    }

    func render(_ text: StyledText) -> String {
        text.spans.map { span in
            let shown = unicode ? span.text : Style.ascii(span.text)
            guard colour, let code = Style.code(span.tone) else { return shown }
            return "\u{1B}[\(code)m\(shown)\u{1B}[0m"
        }.joined()
    }

    /// Replaces this program's own signs with ASCII of the same width. Names do not change, because they must remain
    /// recognisable.
    private static func ascii(_ text: String) -> String {
        String(
            text.map { character in
                switch character {
                case "…": "~"
                case "━": "#"
                case "╸": ">"
                case "─": "-"
                case "✓": "+"
                case "✗": "x"
                case "·": "."
                case "→": ">"
                default: character
                }
            })
    }

    private static func code(_ tone: Tone) -> String? {
        switch tone {
        case .plain: nil
        case .strong: "1"
        case .faint: "2"
        case .good: "32"
        case .bad: "31"
        case .warning: "33"
        case .accent: "36"
        }
    }
}

/// The part of a terminal that the live screen uses: text, CR LF, cursor up, clear line, clear below, cursor on and
/// off.
///
/// Lines are kept complete and wrapped when they are read, as on terminals that wrap again after a resize.
struct TinyTerminal {
    private(set) var columns: Int
    private(set) var cursorVisible = true
    /// Logical lines. Each of them ends with a line feed, except for the last.
    private var lines: [[Character]] = [[]]
    private var row = 0
    private var column = 0

    private let wraps: Bool

    /// - Parameter wraps: Whether lines that do not fit after a resize are wrapped again. Otherwise they are cut.
    init(columns: Int, wraps: Bool = true) {
        self.columns = columns
        self.wraps = wraps
    }

    mutating func resize(to columns: Int) {
        self.columns = columns
        if !wraps { for index in lines.indices { lines[index] = Array(lines[index].prefix(columns)) } }
    }

    /// The content of the screen, wrapped, without empty lines at its end.
    var screen: [String] {
        var result: [String] = []
        for line in lines {
            var rest = line[...]
            repeat {
                result.append(String(rest.prefix(columns)))
                rest = rest.dropFirst(columns)
            } while !rest.isEmpty
        }
        while result.last?.isEmpty == true { result.removeLast() }
        return result
    }

    mutating func feed(_ text: String) {
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n":
                row += 1
                column = 0
                if row == lines.count { lines.append([]) }
            case "\u{1B}": escape(&rest)
            default: put(Character(scalar))
            }
        }
    }

    private mutating func put(_ character: Character) {
        while lines[row].count <= column { lines[row].append(" ") }
        lines[row][column] = character
        column += 1
    }

    private mutating func escape(_ rest: inout ArraySlice<Unicode.Scalar>) {
        guard rest.popFirst() == "[" else { return }
        var parameter = ""
        while let scalar = rest.popFirst() {
            if scalar.properties.isAlphabetic {
                return control(scalar, parameter)
            }
            parameter.unicodeScalars.append(scalar)
        }
    }

    private mutating func control(_ final: Unicode.Scalar, _ parameter: String) {
        switch (final, parameter) {
        case ("A", _): up(Int(parameter) ?? 1)
        case ("K", _): lines[row].removeSubrange(min(column, lines[row].count)...)
        case ("H", _): (row, column) = (0, 0)
        case ("J", "2"): lines = [[]]
        case ("J", _):
            lines[row].removeSubrange(min(column, lines[row].count)...)
            lines.removeSubrange((row + 1)...)
        case ("l", "?25"): cursorVisible = false
        case ("h", "?25"): cursorVisible = true
        default: break
        }
    }

    /// Moves up by physical rows. A wrapped line counts as several.
    private mutating func up(_ count: Int) {
        var left = count
        while left > 0, row > 0 {
            row -= 1
            left -= max(1, (lines[row].count + columns - 1) / columns)
        }
    }
}

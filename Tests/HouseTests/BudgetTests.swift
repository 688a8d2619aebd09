import Testing

/// Lines are paid for: budget.txt says how many a target may have, and which types may be large.
@Suite struct BudgetTests {
    private struct Bounds: Equatable {
        var lines: Int
        var variables: Int
    }

    private static let common = Bounds(lines: 700, variables: 25)

    /// The lines of budget.txt without remarks, in words.
    private static func rows() throws -> [[Substring]] {
        try Checkout.text("Tests/HouseTests/budget.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: " ") }
    }

    @Test func targetsKeepTheirBudget() throws {
        var budgets: [Substring: Int] = [:]
        for row in try Self.rows() where row.count == 2 { budgets[row[0]] = Int(row[1]) }
        var lines: [Substring: Int] = [:]
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let target = file.split(separator: "/")[1]
            lines[target, default: 0] += try Checkout.text(file).utf8.count { $0 == UInt8(ascii: "\n") }
        }
        #expect(Set(lines.keys) == Set(budgets.keys))
        for (target, count) in lines {
            let budget = budgets[target] ?? 0
            #expect(count <= budget, "\(target) has \(count) lines: shorten it, or say in the commit what they buy")
            #expect(count > budget - 200, "\(target) has only \(count) lines: lower its figure in budget.txt")
        }
    }

    @Test func typesKeepTheirBounds() throws {
        var exceptions: [String: Bounds] = [:]
        for row in try Self.rows() where row.count > 3 {
            exceptions[String(row[0])] = Bounds(lines: Int(row[1]) ?? 0, variables: Int(row[2]) ?? 0)
        }
        let types = try Self.types()
        for (name, size) in types {
            let bounds = exceptions[name] ?? Self.common
            #expect(size.lines <= bounds.lines, "\(name) has \(size.lines) lines in all its files")
            #expect(size.variables <= bounds.variables, "\(name) has \(size.variables) stored variables")
        }
        for name in exceptions.keys {
            let size = try #require(types[name], "\(name) is gone: remove it from budget.txt")
            let isLarge = size.lines > Self.common.lines || size.variables > Self.common.variables
            #expect(isLarge, "\(name) needs no exception any more")
            let bounds = exceptions[name] ?? Self.common
            #expect(
                bounds.lines == Self.common.lines || size.lines > bounds.lines - 100,
                "\(name) has only \(size.lines) lines: lower its figure in budget.txt")
        }
    }

    /// The lines of each type with its extensions, and the variables that it stores, as the formatter lays them out.
    private static func types() throws -> [String: Bounds] {
        var types: [String: Bounds] = [:]
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let target = file.split(separator: "/")[1]
            var current: (name: String, stores: Bool)?
            for line in try Checkout.text(file).split(separator: "\n", omittingEmptySubsequences: false) {
                // Only lines without indentation, which are few.
                if line.utf8.first.map({ $0 > UInt8(ascii: " ") }) == true,
                    let found = line.prefixMatch(
                        of: #/(?:[a-z@]\S* )*?(struct|class|enum|actor|extension|protocol) (\w+)/#)
                {
                    let kind = found.1
                    current = ("\(target).\(found.2)", ["struct", "class", "actor"].contains(kind))
                }
                guard let (name, stores) = current else { continue }
                types[name, default: Bounds(lines: 0, variables: 0)].lines += 1
                if stores, isStored(line) { types[name]?.variables += 1 }
                if line.hasPrefix("}") { current = nil }
            }
        }
        return types
    }

    private static func isStored(_ line: Substring) -> Bool {
        (line.contains("var ") || line.contains("let "))
            && line.prefixMatch(of: #/ {4}(?:@\S+ )*(?:[a-z]+(?:\(\w+\))? )*?(?:var|let) /#) != nil
            && !line.contains(" static ")
            && (!line.hasSuffix("{") && !line.hasSuffix("}") || line.prefix { $0 != "{" }.contains(" = "))
    }

    @Test func storedVariablesAreToldApart() {
        #expect(
            Self.isStored("    private(set) var a: Int = 0") && Self.isStored("    @Boxed public var spec: TaskSpec"))
        #expect(Self.isStored("    var a = 1 { didSet { b() } }") && Self.isStored("    let a: () -> Void = {"))
        #expect(!Self.isStored("    var a: Int { 1 }") && !Self.isStored("    static let a = 1"))
        #expect(!Self.isStored("        let a = 1") && !Self.isStored("    func a() {"))
    }
}

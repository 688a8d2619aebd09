import Testing

@testable import TransferCore

struct UnitNameTests {
    @Test(arguments: ["import.service", "app@1.service", "a-b_c:d\\x2d.timer"])
    func fullNamesAreTaken(_ name: String) { #expect(UnitName.isValid(name)) }

    @Test(arguments: [
        "", "import", "import.servce", ".service", "-H.service", "a b.service", "a/b.service", "a;b.service",
        "a\n.service", String(repeating: "a", count: 248) + ".service",
    ])
    func othersAreNot(_ name: String) { #expect(!UnitName.isValid(name)) }
}

import ArgumentParser
import Testing

@testable import dlctl

@Suite struct CredentialCommandTests {
    /// A part of it would be taken as the password, in place of the given password.
    @Test func aUserNameHasNoColon() async throws {
        await #expect(throws: (any Error).self) {
            try await CredentialCommand.Add.asyncParse(["a.org", "--username", "a:b"])
        }
        let command = try await CredentialCommand.Add.asyncParse(["a.org", "--username", "anna", "--password-stdin"])
        #expect(command.username == "anna")
    }

    /// This holds whatever the parser reports.
    @Test func aPasswordInTheServersPlaceIsNotShown() async throws {
        do {
            _ = try await CredentialCommand.Add.asyncParse(["https://anna:Zq7secretqZ@a.org/x"])
            #expect(Bool(false), "it was taken")
        } catch {
            let text = CredentialCommand.Add.fullMessage(for: error)
            #expect(!text.contains("Zq7secretqZ") && text.contains("--username NAME"), "\(text)")
        }
    }
}

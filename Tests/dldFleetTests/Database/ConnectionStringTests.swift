import Testing

@testable import dld_fleet

@Suite struct ConnectionStringTests {
    @Test(arguments: [
        ("", [:]), ("host=a port=5433", ["host": "a", "port": "5433"]), ("dbname='a b'", ["dbname": "a b"]),
        (
            "postgresql://ann@db.example:5433/queue?sslmode=verify-full",
            ["user": "ann", "host": "db.example", "port": "5433", "dbname": "queue", "sslmode": "verify-full"]
        ), ("service=fleet", ["service": "fleet"]), ("password=''", [:]),
    ])
    func aStringIsTakenApart(_ text: String, _ options: [String: String]) throws {
        #expect(try ConnectionString(text, environment: [:]).options == options)
    }

    @Test(arguments: [
        "password=geheim", "host=a password = 'geheim'", "postgresql://ann:geheim@a/b", "sslpassword=geheim",
        "postgresql:///b?password=geheim", "postgres://ann:geheim@a:no-port/b", "password=geheim x", "geheim@", "x\0y",
    ])
    func aPasswordIsRefusedAndNotRepeated(_ text: String) {
        let fault = #expect(throws: ConnectionString.Fault.self) { try ConnectionString(text, environment: [:]) }
        #expect(fault?.message.contains("geheim") == false)
    }

    @Test func aMistakeIsNamed() {
        let fault = #expect(throws: ConnectionString.Fault.self) { try ConnectionString("hots=a", environment: [:]) }
        #expect(fault?.message.contains("hots") == true)
    }

    @Test func theEnvironmentIsStronger() throws {
        let text = "host=a hostaddr=127.0.0.1 dbname=b sslmode=require"
        func options(_ environment: [String: String]) throws -> [String: String] {
            try ConnectionString(text, environment: environment).options
        }
        #expect(try options(["PGHOST": "c"]) == ["dbname": "b", "sslmode": "require"])
        #expect(try options(["PGHOST": "", "PGDATABASE": "c"])["host"] == "a")
        #expect(try options(["PGSERVICE": "c"]) == ["sslmode": "require"])
    }
}

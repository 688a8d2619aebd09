import TestSupport
import TransferModel

/// Credentials of every kind that a task or session can hold. Each is a text that occurs nowhere else.
struct PlantedSecrets {
    /// The kinds, by the place in which each is planted.
    enum Kind: String, CaseIterable {
        case urlPassword, username, password, bearer, authorization, cookie, apiKey, customToken, proxy, netrc,
            formField,
            bodyText, sessionHeader, sessionProxy, s3Query, setCookie, redirectQuery, locationUser,
            certificatePassword, answerToken, locationQuery, decidedPassword, taskCookie
    }

    static func text(_ kind: Kind) -> String { "Zq7" + kind.rawValue + "7qZ" }
    static func value(_ kind: Kind) -> JSONValue { .string(text(kind)) }

    /// The kinds that are found in a text.
    static func found(in text: String) -> [Kind] {
        Kind.allCases.filter {
            text.contains(Self.text($0)) || text.contains(Base64Text.encode(Array(Self.text($0).utf8)))
        }
    }
}

extension PlantedSecrets {
    /// Makes the origin's answers contain credentials too, and fail in several ways.
    static func serve(_ origin: MisbehavingOrigin, size: Int = 3000) {
        let good = Resource.version(1, size: size).with("Set-Cookie", "id=" + text(.setCookie))
            .with("X-Auth-Token", text(.answerToken))
            .with("Content-Location", "/there?token=" + text(.locationQuery))
        origin.serveEverything(.good(good))
        let login = Base64Text.encode(Array("user:\(text(.password))".utf8))
        origin.serve("/plain", .basic(login, then: .good(good)))
        origin.serve("/denied", .status(401, [("WWW-Authenticate", "Basic realm=\"r\"")]))
        origin.serve("/forbidden", .status(403))
        origin.serve("/busy", .status(503))
        let signed = origin.url("/there").replacing("http://", with: "http://\(text(.locationUser)):x@")
        origin.serve("/away", .redirect(to: signed + "?X-Amz-Signature=" + text(.redirectQuery)))
        origin.serve("/loop", .redirect(to: "/loop?token=" + text(.redirectQuery)))
        origin.serve("/half", .good(.version(2, size: 400_000), cutAfter: 200_000), .silent)
    }

    /// What every task of `specs` has besides its own members. An explicit header overrides all other credentials.
    private static func common(_ netrc: String, isExplicit: Bool) -> [String: JSONValue] {
        let explicit: [JSONValue] = [["Authorization", .string("Digest " + text(.authorization))]]
        let others: [JSONValue] = [
            ["Cookie", .string("a=" + text(.cookie))], ["X-Api-Key", value(.apiKey)],
            ["X-Upload-Token", value(.customToken)],
        ]
        return ["headers": .array(others + (isExplicit ? explicit : [])), "netrc": .string(netrc)]
    }

    /// Tasks that complete, fail, wait and are redirected, with all the secrets.
    static func specs(_ origin: MisbehavingOrigin, _ uploads: UploadServer, _ scene: Scene) throws -> [JSONValue] {
        try Files.write(scene.file("netrc"), "machine 127.0.0.1 login u password \(text(.netrc))\n", mode: 0o600)
        try Files.write(scene.file("source"), "s")
        let withUser = origin.url("/named").replacing("http://", with: "http://u:\(text(.urlPassword))@")
        func spec(_ url: String, _ more: [String: JSONValue], _ name: String? = nil) -> JSONValue {
            let isExplicit = more["bearer"] == nil && more["username"] == nil && !url.contains("@")
            var members = common(scene.file("netrc"), isExplicit: isExplicit).merging(Scene.quickRetry) { $1 }
            members["url"] = .string(url)
            members["destination"] = name.map { ["path": .string(scene.file($0))] }
            return .object(members.merging(more) { $1 })
        }
        let login: [String: JSONValue] = ["username": "user", "password": value(.password)]
        let proxy = JSONValue.string("http://u:\(text(.proxy))@127.0.0.1:\(origin.port)")
        return [
            spec(withUser, [:], "a"), spec(origin.url("/plain"), login, "b"),
            spec(origin.url("/denied"), ["bearer": value(.bearer)], "c"),
            spec(origin.url("/forbidden"), ["bearer": value(.bearer)], "d"),
            spec(origin.url("/busy"), ["bearer": value(.bearer)], "e"),
            spec(origin.url("/away"), ["bearer": value(.bearer)], "f"), spec(origin.url("/loop"), [:], "g"),
            spec(origin.url("/proxied"), ["proxy": proxy], "h"),
            spec(origin.url("/half"), login, "half"),
            spec(
                "https://127.0.0.1:1/tls",
                [
                    "clientCertificate": [
                        "certificate": .string(scene.file("netrc")), "password": value(.certificatePassword),
                    ]
                ],
                "i"),
            spec(origin.url("/data"), ["kind": "data", "method": "POST", "body": ["text": value(.bodyText)]]),
            spec(
                uploads.url("/form"),
                [
                    "kind": "upload", "method": "PUT", "uploadProtocol": "multipart",
                    "source": ["path": .string(scene.file("source"))],
                    "formFields": ["policy": value(.formField)],
                ]),
            spec(
                uploads.url("/s3"),
                [
                    "kind": "upload", "uploadProtocol": "s3Multipart",
                    "source": ["path": .string(scene.file("source"))],
                    "s3": [
                        "partURLs": [.string(uploads.url("/part") + "?sig=" + text(.s3Query))], "partSize": 5_242_880,
                        "completeURL": .string(uploads.url("/complete") + "?sig=" + text(.s3Query)),
                    ],
                ]),
            spec(
                origin.url("/crumbs"),
                ["cookies": [["name": "crumb", "value": value(.taskCookie), "domain": "127.0.0.1"]]], "crumbs"),
        ]
    }
}

import TransferModel
import TransferRPC

/// One thing that a user may try with another user's objects.
struct IsolationAttempt: Sendable {
    enum Expectation: Sendable {
        /// The answer is the same, to the byte, as for something that does not exist.
        case likeUnknown
        /// The same, and it is `permission.denied`.
        case denied
        /// The answer is about the caller's own objects, and contains nothing of the other user's.
        case own
    }

    let expectation: Expectation
    let parameters: @Sendable (IsolationTarget) -> JSONValue

    static func likeUnknown(_ parameters: @escaping @Sendable (IsolationTarget) -> JSONValue) -> Self {
        Self(expectation: .likeUnknown, parameters: parameters)
    }

    static func denied(_ parameters: @escaping @Sendable (IsolationTarget) -> JSONValue) -> Self {
        Self(expectation: .denied, parameters: parameters)
    }

    static func own(_ parameters: @escaping @Sendable (IsolationTarget) -> JSONValue) -> Self {
        Self(expectation: .own, parameters: parameters)
    }
}

extension IsolationAttempt {
    /// The attempts with a method; nil for a method that this list does not know yet.
    ///
    /// A test compares this list with the methods of the daemon, and the parameters of the attempts with those that the
    /// method takes. What is added to the protocol must be added here.
    static func attempts(with method: any RPCMethod) -> [IsolationAttempt]? {
        switch method.name {
        case Methods.daemonInfo.name, Methods.daemonStats.name, Methods.daemonMetrics.name, Methods.getSettings.name,
            Methods.listSettings.name, Methods.discover.name:
            [.own { _ in [:] }]
        case Methods.setSettings.name:
            SettingName.allCases.map { name in .denied { _ in .object([name.rawValue: 1]) } }
        case Methods.listDecisions.name:
            [
                .likeUnknown { ["tasks": [.integer($0.task)]] }, .likeUnknown { ["session": .string($0.session)] },
                .own { _ in [:] }, .denied { ["owner": .integer(Int64($0.uid))] }, .denied { _ in ["owner": "*"] },
            ]
        case Methods.answerDecision.name:
            [
                .likeUnknown { ["id": .integer($0.decision), "action": "cancel"] },
                .likeUnknown { ["id": .integer($0.decision), "action": "trust", "persistence": "none"] },
                .likeUnknown {
                    [
                        "id": .integer($0.decision), "action": "useCredential",
                        "credential": ["username": "u", "password": "p"],
                    ]
                },
                .likeUnknown {
                    ["id": .integer($0.decision), "action": "followWith", "request": ["url": "http://127.0.0.1:1/"]]
                },
                .likeUnknown {
                    ["id": .integer($0.decision), "action": "becomeDownload", "destination": ["path": "/tmp/x"]]
                },
            ]
        case Methods.listCookies.name:
            [
                .own { _ in ["secrets": true] }, .own { _ in ["domain": "localhost"] },
                .likeUnknown { ["session": .string($0.session)] },
            ]
        case Methods.setCookies.name:
            [
                .likeUnknown { ["session": .string($0.session), "cookies": []] },
                .own { _ in ["cookies": [["name": "n", "value": "v", "domain": "localhost"]]] },
            ]
        case Methods.removeCookies.name:
            [
                .own { _ in ["domain": "localhost", "path": "/", "name": "n"] }, .own { _ in [:] },
                .likeUnknown { ["session": .string($0.session)] },
            ]
        case Methods.cacheInfo.name: [.own { _ in [:] }, .own { ["storage": .string($0.session)] }]
        case Methods.removeCached.name:
            [
                .own { _ in [:] }, .own { _ in ["url": "http://localhost/", "since": "2026-01-01T00:00:00Z"] },
                .own { ["storage": .string($0.session)] },
            ]
        case Methods.listHSTS.name, Methods.removeHSTS.name:
            [
                .own { _ in [:] }, .own { _ in ["domain": "localhost"] },
                .likeUnknown { ["session": .string($0.session)] },
            ]
        case Methods.listTrust.name, Methods.removeTrust.name: [.own { _ in [:] }, .own { _ in ["host": "localhost"] }]
        case Methods.listCredentials.name:
            [.own { _ in [:] }, .likeUnknown { ["session": .string($0.session)] }]
        case Methods.setCredential.name:
            [
                .own { _ in
                    [
                        "protectionSpace": ["host": "localhost"], "isDefault": true,
                        "credential": ["username": "u", "password": "p"],
                    ]
                },
                .likeUnknown {
                    [
                        "session": .string($0.session), "protectionSpace": ["host": "localhost"],
                        "credential": ["username": "u", "password": "p"],
                    ]
                },
            ]
        case Methods.removeCredentials.name:
            [
                .own { _ in ["protectionSpace": ["host": "localhost"], "username": "anna"] },
                .likeUnknown { ["session": .string($0.session), "protectionSpace": ["host": "localhost"]] },
            ]
        default: sessions(method.name) ?? tasks(method.name) ?? controls(method.name) ?? events(method.name)
        }
    }

    private static func sessions(_ method: String) -> [IsolationAttempt]? {
        switch method {
        case Methods.openSession.name:
            [
                .denied { ["id": .string($0.session), "owner": .integer(Int64($0.uid))] },
                // She has one of that name too.
                .own { _ in ["id": "photos", "kind": "background", "configuration": ["maximumConcurrentTasks": 3]] },
            ]
        case Methods.getSession.name, Methods.pauseSession.name, Methods.resumeSession.name, Methods.finishSession.name,
            Methods.invalidateSession.name:
            [
                .likeUnknown { ["id": .string($0.session)] },
                .denied { ["id": .string($0.session), "owner": .integer(Int64($0.uid))] },
                .denied { ["id": "photos", "owner": .integer(Int64($0.uid))] },
            ]
        case Methods.listSessions.name:
            [
                .own { _ in [:] }, .denied { ["owner": .integer(Int64($0.uid))] }, .denied { _ in ["owner": "*"] },
                .own { _ in ["limit": 1] }, .own { ["cursor": .string("\($0.uid).")] },
            ]
        default: nil
        }
    }

    private static func tasks(_ method: String) -> [IsolationAttempt]? {
        switch method {
        case Methods.addTasks.name:
            [
                .likeUnknown { ["session": .string($0.session), "tasks": [["url": "http://localhost:1/x"]]] },
                .denied { ["tasks": [["url": "http://localhost:1/x", "destination": ["path": .string($0.path)]]]] },
            ]
        case Methods.getTask.name:
            [
                .likeUnknown { ["id": .integer($0.task)] },
                .likeUnknown { ["id": .integer($0.task), "secrets": true] },
            ]
        case Methods.takeResumeData.name: [.likeUnknown { ["id": .integer($0.task)] }]
        case Methods.giveCredit.name: [.likeUnknown { ["id": .integer($0.task), "bytes": 10] }]
        case Methods.readBody.name: [.likeUnknown { ["id": .integer($0.task), "offset": 0, "length": 10] }]
        case Methods.updateTask.name:
            [
                .likeUnknown {
                    [
                        "id": .integer($0.task), "priority": 1, "rateLimit": 10, "url": "http://localhost:1/x",
                        "headers": [["A", "b"]], "description": "d", "earliestBeginAt": "2040-01-01T00:00:00Z",
                        "position": "first", "allowsExpensiveNetworkAccess": false, "allowsCellularAccess": false,
                        "allowsConstrainedNetworkAccess": false, "isDiscretionary": true,
                        "attributes": ["a": "b"],
                    ]
                },
                .likeUnknown {
                    [
                        "id": .integer($0.task), "mirrors": ["http://localhost:1/m"], "username": "u", "password": "p",
                        "proxy": "http://localhost:1", "caFile": .string($0.path), "conflictPolicy": "overwrite",
                        "deadlineAt": "2040-01-01T00:00:00Z", "destination": ["path": .string($0.path)],
                    ]
                },
                .likeUnknown {
                    [
                        "id": .integer($0.task), "netrc": .string($0.path), "bearer": "b", "interface": "lo",
                        "checksum": [
                            "algorithm": "sha-256", "value": .string(String(repeating: "0", count: 64)),
                        ],
                        "s3": [
                            "partURLs": ["http://localhost:1/p"], "partSize": 5, "completeURL": "http://localhost:1/c",
                        ],
                    ]
                },
            ]
        case Methods.listTasks.name:
            [
                .likeUnknown { ["session": .string($0.session)] }, .likeUnknown { ["match": .string($0.text)] },
                .likeUnknown { ["match": .string($0.text), "total": true] },
                .own { _ in ["offset": 1, "total": true] },
                .likeUnknown { ["idRange": range($0.task)] },
                .likeUnknown {
                    [
                        "session": .string($0.session), "match": .string($0.text), "states": ["paused", "completed"],
                        "kinds": ["download"], "order": "newest", "limit": 10,
                    ]
                },
                .likeUnknown { ["ids": [.integer($0.task)]] }, .likeUnknown { _ in ["tags": ["anna-tag"]] },
                .likeUnknown { _ in ["clientTokens": ["anna-token"]] },
                .likeUnknown { ["ids": [.integer($0.task)], "tags": ["anna-tag"], "clientTokens": ["anna-token"]] },
                .own { _ in [:] }, .own { _ in ["order": "queue"] }, .own { _ in ["order": "finished"] },
                .own { $0.cursor.isEmpty ? [:] : ["cursor": .string($0.cursor)] },
                .denied { ["owner": .integer(Int64($0.uid))] }, .denied { _ in ["owner": "*"] },
            ]
        default: nil
        }
    }

    private static func controls(_ method: String) -> [IsolationAttempt]? {
        let option: [String: JSONValue]
        switch method {
        case Methods.pauseTasks.name, Methods.resumeTasks.name: option = [:]
        case Methods.retryTasks.name: option = ["sourceChanged": true]
        case Methods.cancelTasks.name: option = ["keepPartial": true]
        case Methods.removeTasks.name: option = ["deleteFile": true]
        default: return nil
        }
        @Sendable func with(_ members: [String: JSONValue]) -> JSONValue { .object(members.merging(option) { $1 }) }
        return [
            .likeUnknown { with(["ids": [.integer($0.task)]]) },
            .likeUnknown { with(["ids": [.integer($0.task)], "states": ["paused", "completed", "failed"]]) },
            .likeUnknown { with(["idRange": range($0.task)]) },
            .likeUnknown { with(["idRange": range($0.task), "states": ["paused", "completed", "failed"]]) },
            .likeUnknown { with(["session": .string($0.session)]) },
            .denied { with(["ids": [.integer($0.task)], "owner": .integer(Int64($0.uid))]) },
            .denied { with(["session": .string($0.session), "owner": .integer(Int64($0.uid))]) },
            .denied { with(["all": true, "owner": .integer(Int64($0.uid))]) },
            .denied { _ in with(["all": true, "owner": "*"]) },
            .own { _ in with(["all": true]) }, .own { _ in with(["session": "photos"]) },
            .own { _ in with(["idRange": ["first": 1, "last": 1_000_000]]) },
        ]
    }

    private static func range(_ task: Int64) -> JSONValue { ["first": .integer(task), "last": .integer(task)] }

    private static func events(_ method: String) -> [IsolationAttempt]? {
        switch method {
        case Methods.subscribe.name:
            [
                .likeUnknown {
                    [
                        "after": "start", "subscriber": .string($0.subscriber), "sessions": [.string($0.session)],
                        "tasks": [.integer($0.task)], "types": ["task.completed"], "progressInterval": 0.1,
                    ]
                },
                .denied { ["after": "start", "owner": .integer(Int64($0.uid))] },
                .denied { _ in ["after": "start", "owner": "*"] },
            ]
        case Methods.unsubscribe.name: [.likeUnknown { ["subscription": .string($0.subscription)] }]
        case Methods.acknowledgeEvents.name: [.likeUnknown { ["subscriber": .string($0.subscriber), "sequence": 5] }]
        case Methods.forgetSubscriber.name: [.likeUnknown { ["subscriber": .string($0.subscriber)] }]
        case Methods.listEvents.name:
            [
                .likeUnknown {
                    [
                        "after": "start", "sessions": [.string($0.session)], "tasks": [.integer($0.task)],
                        "types": ["task.added", "task.completed"], "limit": 10,
                    ]
                },
                .likeUnknown { ["after": "start", "tasks": [.integer($0.task)]] },
                .likeUnknown { ["after": 0, "sessions": [.string($0.session)]] },
                .own { _ in ["after": "start", "limit": 1000] },
                .denied { ["after": "start", "owner": .integer(Int64($0.uid))] },
                .denied { _ in ["after": "start", "owner": "*"] },
            ]
        default: nil
        }
    }
}

extension RPCMethod {
    /// The names of its parameters.
    var parameterNames: Set<String> { Set(Parameters.fields.map(\.name)) }
}

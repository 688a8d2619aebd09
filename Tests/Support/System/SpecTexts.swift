import TransferModel

/// Specs as JSON text, for tests of all members.
package enum SpecTexts {
    /// One text for each member of a task.
    package static let members: [String: String] = [
        "kind": #""upload""#, "url": #""https://example.org/a?b=c""#, "mirrors": #"["https://m.example/1"]"#,
        "method": #""PUT""#, "headers": #"[["A","1"],["A","2 \" \\ \/ \u00e4 \ud83d\ude00"]]"#,
        "body": #"{"text":"t","base64":null}"#, "destination": #"{"directory":"/d","filename":"n"}"#,
        "conflictPolicy": #""overwrite""#, "source": #"{"path":"/s"}"#, "uploadProtocol": #""tus""#,
        "formField": #""f""#,
        "formFields": #"{"a":"b","c":"d"}"#, "fileName": #""x""#, "contentType": #""text/plain""#,
        "uploadMetadata": #"{}"#, "interopVersion": "8", "uploadCreation": #""careful""#,
        "uploadChecksum": #""sha-256""#,
        "s3": #"{"partURLs":["https://s/1"],"partSize":5242880,"completeURL":"https://s/c"}"#,
        "checksum": #"{"algorithm":"md5","value":"00"}"#, "priority": "0.125",
        "size": "2500", "pieces": #"{"algorithm":"sha-1","length":262144,"values":["00","ab"]}"#, "startPaused": "true",
        "earliestBeginAt": #""2030-01-01T00:00:00Z""#, "deadlineAt": #""2030-01-01T00:00:00.250Z""#,
        "rateLimit": "1000", "connections": "4", "proxy": #""none""#, "interface": #""eth0""#,
        "username": #""u""#, "password": #""p""#,
        "bearer": #""b""#, "netrc": #""/n""#,
        "cookies":
            ##"[{"name":"n","value":"v","domain":".Example.org","path":"/p","expires":"2030-01-01T00:00:00Z","secure":true,"httpOnly":true,"sameSite":"lax"}]"##,
        "httpVersion": #""1.1""#, "preserveTime": "false",
        "description": #""grün\n\t""#, "tags": #"["t",""]"#, "attributes": #"{"a.b":"c","ä":""}"#,
        "clientToken": #""k""#, "resumeData": #""r""#,
        "caFile": #""/c""#, "clientCertificate": #"{"certificate":"/c","key":"/k","password":"p"}"#,
        "tlsMinimumVersion": #""1.2""#, "timeoutIntervalForRequest": "1.5", "timeoutIntervalForResource": "600",
        "retry": #"{"attempts":3,"firstDelay":0.5,"longestDelay":1e2}"#, "durability": #""relaxed""#,
        "allowsArbitraryLoads": "false", "waitsForConnectivity": "false", "acceptsAnyStatus": "true",
        "resumesUnproven": "true", "allowsExpensiveNetworkAccess": "false", "allowsCellularAccess": "false",
        "allowsConstrainedNetworkAccess": "false", "isDiscretionary": "true",
        "stream": "true", "requestCachePolicy": #""useProtocolCachePolicy""#,
    ]
}

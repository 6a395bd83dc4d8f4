# certificates.tcl -- certificates and keys made for a test by the openssl program.
#
# A folder gets ca.crt and ca.key, and any number of pairs NAME.crt, NAME.key.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval certificates {
    proc openssl {args} {
        exec -ignorestderr openssl {*}$args 2>/dev/null
    }

    proc authority {dir {name ca}} {
        file mkdir $dir
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout $dir/$name.key \
            -out $dir/$name.crt -subj "/CN=Authority $name"
    }

    # Returns the settings of a server with a TLS port and the certificates of DIR.
    proc settings {dir args} {
        return [list tls-port [free_port] tls-cert-file $dir/server.crt tls-key-file $dir/server.key \
            tls-ca-cert-file $dir/ca.crt {*}$args]
    }

    # OPTIONS: subject, extensions (lines of OpenSSL's), days, by (the authority), pass (of the key).
    proc pair {dir name {options {}}} {
        array set given {subject /CN=localhost extensions {} days 10 by ca pass {}}
        array set given $options
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $dir/$name.key -out $dir/$name.csr \
            -subj $given(subject) -utf8
        set file [open $dir/$name.ext w]
        puts $file [join $given(extensions) \n]
        close $file
        openssl x509 -req -in $dir/$name.csr -CA $dir/$given(by).crt -CAkey $dir/$given(by).key -CAcreateserial \
            -days $given(days) -out $dir/$name.crt -extfile $dir/$name.ext
        if {$given(pass) ne ""} {
            openssl ec -aes128 -passout pass:$given(pass) -in $dir/$name.key -out $dir/$name.locked
            file rename -force $dir/$name.locked $dir/$name.key
        }
    }
}

# make_certificates.tcl -- creates an authority and a server's certificate in the given folder (./runtest --tls).
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join [file dirname [info script]] certificates.tcl]

set dir [lindex $argv 0]
certificates::authority $dir
certificates::pair $dir server {extensions {"subjectAltName=DNS:localhost,IP:127.0.0.1"}}
